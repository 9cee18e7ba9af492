"use strict";

// The page is a pure function of the last state from the server and of the place in the address ("#/server/channel").
const by = (id) => document.getElementById(id);
const TEXT = 0, VOICE = 2, CATEGORY = 4, NEWS = 5, STAGE = 13, FORUM = 15, MEDIA = 16;
let state = { guilds: [], messages: [] };
let stream, streamed;

// place returns the server and the channel of the address, or the first ones.
function place() {
  const [, guildID, channelID] = location.hash.split("/");
  const guild = state.guilds.find((g) => g.id === guildID) || state.guilds[0];
  const readable = guild ? guild.channels.filter((c) => c.type !== CATEGORY) : [];
  const channel = readable.find((c) => c.id === channelID);
  return { guild, channel: channel || readable[0], chosen: Boolean(channel) };
}

// shape makes an icon of path data.
function shape(d) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", d);
  svg.append(path);
  return svg;
}
const LOCK = "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3";
const SIGNS = {
  [VOICE]: "M4 9v6h4l5 4V5L8 9zM16 9a4 4 0 0 1 0 6M18.5 6a8 8 0 0 1 0 12",
  [STAGE]: "M4 9v6h4l5 4V5L8 9zM16 9a4 4 0 0 1 0 6",
  [NEWS]: "M4 10v4h4l9 5V5l-9 5zM8 14l1 6M20 10v4",
  [FORUM]: "M4 5h16v10H10l-4 4v-4H4z",
  [MEDIA]: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h1",
};

// sign is the icon before a channel's name.
function sign(channel) {
  const d = channel.private && channel.type === TEXT ? LOCK : SIGNS[channel.type];
  return element("span", { class: "sign" }, d ? shape(d) : "#");
}

// drawn has the data from which each part was last drawn. A part is redrawn only when its data changes: a button that is
// replaced between press and release gets no click and loses the focus, and a live region is read out again.
const drawn = {};
function draw(part, from, how) {
  const now = JSON.stringify(from);
  if (drawn[part] === now) return;
  drawn[part] = now;
  how();
}

function showServers({ guild }) {
  by("servers").replaceChildren(...state.guilds.map((g) => {
    const initials = g.name.split(/\s+/).map((w) => [...w][0] || "").join("").slice(0, 3);
    const b = element("button", { type: "button", title: g.name, "aria-label": g.name }, initials);
    if (g === guild) b.setAttribute("aria-current", "true");
    b.onclick = () => { location.hash = `#/${g.id}`; };
    return b;
  }));
}

function showChannels({ guild, channel }) {
  by("server-name").textContent = guild ? guild.name : "No server yet";
  by("server-about").textContent = guild ? guild.description || `${guild.members} member${guild.members === 1 ? "" : "s"}` : "A bot's first guild shows up here.";
  by("channel-list").replaceChildren(...(guild ? guild.channels : []).map((c) => {
    if (c.type === CATEGORY) return element("h3", { "data-id": c.id }, ...(c.private ? [shape(LOCK)] : []), c.name);
    const b = element("button", { type: "button", class: "channel", "data-id": c.id, title: c.topic || c.name },
      sign(c), element("span", { class: "name" }, c.name));
    if (c.voice && c.voice.limit) b.append(element("span", { class: "count", title: "connected, of at most" }, `00 / ${String(c.voice.limit).padStart(2, "0")}`));
    if (c.messages) b.append(element("span", { class: "count", title: "messages" }, String(c.messages)));
    if (c === channel) b.setAttribute("aria-current", "page");
    b.onclick = () => { location.hash = `#/${guild.id}/${c.id}`; };
    return b;
  }));
}

function showFigures() {
  by("figures").textContent = `${state.calls ?? 0} calls · ${state.gateways ?? 0} gateway`;
}

function showChannel({ channel, chosen }) {
  document.body.classList.toggle("reading", chosen);
  by("channel-name").replaceChildren(...(channel ? [sign(channel), channel.name] : []));
  by("channel-topic").textContent = channel && !channel.forum ? channel.topic : "";
  const marks = channel ? [channel.private && "private", channel.nsfw && "age-restricted", channel.slowmode && `slow mode ${channel.slowmode} s`,
    channel.webhooks && `${channel.webhooks} webhook${channel.webhooks > 1 ? "s" : ""}`, ...voiceMarks(channel.voice)] : [];
  by("marks").replaceChildren(...marks.filter(Boolean).map((t) => element("span", { class: "mark" }, t)));
}

// voiceMarks are the settings of a voice channel or a stage.
function voiceMarks(voice) {
  if (!voice) return [];
  return [`${voice.bitrate / 1000} kbps`, voice.limit && `up to ${voice.limit}`, voice.region || "automatic region", voice.full && "720p video"];
}

// about precedes the messages of a voice channel, and replaces the messages of a forum.
function about(channel) {
  if (channel?.voice) {
    const kind = channel.type === STAGE ? "No one is on stage" : "No one is connected";
    return [element("section", { class: "about voice" }, sign(channel), element("b", {}, channel.name), element("p", {}, `${kind}.`))];
  }
  const forum = channel?.forum;
  if (!forum) return [];
  const tags = forum.tags.map((t) => element("li", { class: "tag", title: t.moderated ? "for moderators" : "" },
    ...(t.moderated ? [shape(LOCK)] : []), [t.emoji, t.name].filter(Boolean).join(" ")));
  const settings = [forum.order && `Sort by ${forum.order}`, forum.layout && `${forum.layout} View`, forum.reaction && `Reaction ${forum.reaction}`,
    forum.requireTag && "A tag is required", forum.threadSlowmode && `slow mode ${forum.threadSlowmode} s in posts`].filter(Boolean);
  return [element("section", { class: "about" }, ...(channel.topic ? [element("b", {}, "Guidelines"), element("div", { class: "text" }, ...markdown(channel.topic))] : []),
    element("ul", { class: "tags" }, ...tags), element("div", { class: "settings" }, ...settings.map((t) => element("span", { class: "mark" }, t))))];
}

function showMessages({ guild, channel }) {
  mentioned = guild?.mentions ?? {};
  const list = by("messages"), atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
  const none = element("p", { class: "empty" }, channel?.forum ? `No posts in ${channel.name} yet.` : channel ? `No messages in ${channel.name} yet.` : guild ? "This server has no channels yet." : "");
  list.replaceChildren(...about(channel), ...(streamed === channel?.id && state.messages.length ? state.messages.map(message) : [none]));
  if (atEnd) list.scrollTop = list.scrollHeight;
}

// message is one message with its embeds.
function message(m) {
  const body = element("div", {}, element("span", { class: "who" }, m.author.username));
  if (m.author.bot) body.append(element("span", { class: "app" }, "APP"));
  body.append(element("time", { class: "when", datetime: m.timestamp }, new Date(m.timestamp).toLocaleString()));
  if (m.content) body.append(element("div", { class: "text" }, ...markdown(m.content)));
  if (m.edited_timestamp) body.append(element("span", { class: "edited" }, "(edited)"));
  body.append(...m.embeds.map(embed));
  return element("article", { class: "message" }, element("div", { class: "avatar" }, [...m.author.username][0] || "?"), body);
}

// embed is a rich block.
function embed(e) {
  const box = element("div", { class: "embed" });
  if (e.color) box.style.borderLeftColor = `#${e.color.toString(16).padStart(6, "0")}`;
  if (e.author) box.append(element("div", { class: "author" }, e.author.name));
  if (e.title) box.append(element("div", { class: "title" }, ...(/^https?:/.test(e.url || "") ? [link(e.url, e.title)] : markdown(e.title))));
  if (e.description) box.append(element("div", { class: "text" }, ...markdown(e.description)));
  if (e.fields) {
    box.append(element("div", { class: "fields" }, ...e.fields.map((f) =>
      element("div", { class: f.inline ? "field inline" : "field" }, element("b", {}, f.name), ...markdown(f.value)))));
  }
  const foot = [e.footer && e.footer.text, e.timestamp && new Date(e.timestamp).toLocaleString()].filter(Boolean).join(" • ");
  if (foot) box.append(element("div", { class: "footer" }, foot));
  return box;
}

function show() {
  const here = place(), { guild, channel, chosen } = here;
  draw("servers", [guild?.id, state.guilds.map((g) => [g.id, g.name])], () => showServers(here));
  draw("channels", [guild, channel?.id], () => showChannels(here));
  showFigures();
  draw("channel", [channel, chosen], () => showChannel(here));
  draw("messages", [guild?.id, guild?.mentions, channel?.id, channel?.name, channel?.voice, channel?.forum, channel?.forum && channel.topic, streamed, state.messages], () => showMessages(here));
  const wanted = here.channel ? here.channel.id : "";
  if (wanted !== streamed) follow(wanted);
}

// follow opens the stream of changes with the messages of one channel. The browser reconnects by itself.
function follow(channel) {
  if (stream) stream.close();
  streamed = channel;
  state.messages = [];
  stream = new EventSource(`live?channel=${channel}`);
  const mine = stream;
  stream.onopen = () => { by("state").textContent = "live"; by("state").className = "live"; };
  stream.onerror = () => { by("state").textContent = "reconnecting …"; by("state").className = ""; };
  stream.onmessage = (e) => {
    if (mine !== stream) return;
    state = JSON.parse(e.data);
    show();
  };
}

by("back").onclick = () => { location.hash = `#/${place().guild.id}`; };
window.onhashchange = show;
follow("");
