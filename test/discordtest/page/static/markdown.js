"use strict";

// The part of Discord's markdown that alerts use: code, bold, italics, underline, strike-through, links, mentions. Everything
// is built as DOM nodes from text, so nothing that people write can become HTML.
const marks = [
  [/^```(?:\w*\n)?([\s\S]*?)```/, (m) => element("pre", {}, element("code", {}, m[1]))],
  [/^`([^`]+)`/, (m) => element("code", {}, m[1])],
  [/^\*\*([\s\S]+?)\*\*/, (m) => element("strong", {}, ...markdown(m[1]))],
  [/^__([\s\S]+?)__/, (m) => element("u", {}, ...markdown(m[1]))],
  [/^~~([\s\S]+?)~~/, (m) => element("s", {}, ...markdown(m[1]))],
  [/^\*([^*\s][^*]*)\*/, (m) => element("em", {}, ...markdown(m[1]))],
  [/^_([^_\s][^_]*)_(?!\w)/, (m) => element("em", {}, ...markdown(m[1]))],
  [/^\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/, (m) => link(m[2], m[1])],
  [/^https?:\/\/[^\s<>)]+/, (m) => link(m[0], m[0])],
  [/^<(@&|@|#)!?(\d+)>/, (m) => mention(m[1], mentioned[m[1] + m[2]])],
];

// mentioned has what mentions stand for: roles ("@&" and the id), members ("@") and channels ("#") of the server.
let mentioned = {};

// mention is one of them, a role's in its color.
function mention(sign, of) {
  const unknown = { "@&": "unknown-role", "@": "unknown-user", "#": "unknown" };
  const e = element("span", { class: "mention" }, sign[0] + (of ? of.name : unknown[sign]).replace(/^@/, ""));
  if (of?.color) e.style.setProperty("--mention", `#${of.color.toString(16).padStart(6, "0")}`);
  return e;
}

// element makes an element with attributes and children (strings become text).
function element(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

// link makes a link to another site.
function link(to, text) {
  return element("a", { href: to, rel: "noreferrer noopener", target: "_blank" }, text);
}

// markdown turns text into nodes.
function markdown(text) {
  const out = [];
  let plain = "";
  const flush = () => { if (plain) out.push(plain); plain = ""; };
  while (text) {
    const hit = marks.map(([pattern, make]) => [text.match(pattern), make]).find(([m]) => m);
    if (hit) {
      flush();
      out.push(hit[1](hit[0]));
      text = text.slice(hit[0][0].length);
    } else {
      const [next] = text.match(/^\w+|^[\s\S]/); // a word at once: an underscore within it is no mark
      plain += next;
      text = text.slice(next.length);
    }
  }
  flush();
  return out;
}
