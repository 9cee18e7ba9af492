package guildcache

import (
	"encoding/json"
	"errors"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/gateway"
)

// intents are the events that are asked for; none is privileged.
// Source: https://discord.com/developers/docs/events/gateway#gateway-intents.
const (
	intentGuilds        = 1 << 0 // guilds, roles, channels
	intentGuildWebhooks = 1 << 5 // that a channel's webhooks changed
	intents             = intentGuilds | intentGuildWebhooks
)

var _ gateway.Handler = (*cache)(nil)

// Connecting implements gateway.Handler.
func (c *cache) Connecting() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connecting = time.Now()
}

// Alive implements gateway.Handler.
func (c *cache) Alive() { c.alive.Store(time.Now().UnixNano()) }

// Disconnected implements gateway.Handler: views stay as they are and are polled after a period without the Gateway.
func (c *cache) Disconnected(err error) {
	why := "closed"
	if err != nil {
		why = discordclient.Sanitize(err.Error(), c.token)
	}
	if c.disconnect(why) {
		c.log.Info("Discord Gateway is not connected", "reason", why)
	}
	c.metrics.disconnects.Inc()
}

// disconnect reports whether it was not known before.
func (c *cache) disconnect(why string) (news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	news = c.connected || c.gatewayErr != why
	c.connected, c.gatewayErr = false, why
	for _, g := range c.guilds {
		if !g.live {
			continue
		}
		g.setState(g.snap().Presence, ModePolled, g.view.AsOf())
		g.live = false
		if at := time.Now().Add(c.resync); g.stale.IsZero() || at.Before(g.nextPoll) { // a stale view does not wait
			g.nextPoll = at
		}
		if !g.wanted {
			delete(c.guilds, g.id)
		}
	}
	c.wake()
	return news
}

// handlers are the events that matter. Their data is decoded before the lock is taken.
var handlers = map[string]func(c *cache, data []byte) error{
	"READY":               (*cache).onReady,
	"GUILD_CREATE":        (*cache).onGuildCreate,
	"GUILD_UPDATE":        (*cache).onGuildUpdate,
	"GUILD_DELETE":        (*cache).onGuildDelete,
	"GUILD_ROLE_CREATE":   (*cache).onRole,
	"GUILD_ROLE_UPDATE":   (*cache).onRole,
	"GUILD_ROLE_DELETE":   (*cache).onRoleDelete,
	"GUILD_MEMBER_UPDATE": (*cache).onMember,
	"CHANNEL_CREATE":      (*cache).onChannel,
	"CHANNEL_UPDATE":      (*cache).onChannel,
	"CHANNEL_DELETE":      (*cache).onChannelDelete,
	"WEBHOOKS_UPDATE":     (*cache).onWebhooks,
}

// Dispatch implements gateway.Handler. After a gap in the numbering, or an event that cannot be read, the views are
// read again by REST: what was missed is not known.
func (c *cache) Dispatch(event string, data []byte, gap bool) {
	handle, known := handlers[event]
	if !known {
		c.metrics.events.WithLabelValues("other").Inc()
	} else {
		c.metrics.events.WithLabelValues(event).Inc()
		if err := handle(c, data); err != nil {
			c.log.Warn("an event of the Discord Gateway cannot be read", "event", event)
			gap = true
		}
	}
	if gap {
		c.metrics.gaps.Inc()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, g := range c.guilds {
			if g.live { // one that is not wanted is read as soon as it is
				c.markStale(g, 0)
			}
		}
	}
}

// errNoObject is the error of an event without what it must have.
var errNoObject = errors.New("the event names no object")

// identified is any object, decoded as far as its id.
type identified struct {
	ID string `json:"id"`
}

func (c *cache) onReady(data []byte) error {
	var d struct {
		User   identified   `json:"user"`
		Guilds []identified `json:"guilds"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	c.log.Info("Discord Gateway is connected", "guilds", len(d.Guilds))
	c.metrics.connects.Inc()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.selfID, c.connected, c.gatewayErr = d.User.ID, true, ""
	member := map[string]bool{}
	for _, g := range d.Guilds {
		member[g.ID] = true
	}
	for _, g := range c.guilds {
		g.update(func(s *Snapshot) { s.selfID = c.selfID })
		if !member[g.id] {
			c.absent(g, c.connecting)
		} else if at := time.Now().Add(c.grace); !g.live && at.Before(g.nextPoll) {
			g.nextPoll = at // should its GUILD_CREATE not come
		}
	}
	return nil
}

// guildEvent is what an event about a guild has besides the settings.
type guildEvent struct {
	guild       discordclient.Guild
	Channels    []*discordclient.Channel `json:"channels"`    // GUILD_CREATE only
	Members     []memberEvent            `json:"members"`     // GUILD_CREATE only: without privileged intents the bot itself
	Unavailable *bool                    `json:"unavailable"` // absent from GUILD_DELETE: the bot was removed
}

func decodeGuild(data []byte) (event guildEvent, err error) {
	if err = json.Unmarshal(data, &event.guild); err == nil {
		err = json.Unmarshal(data, &event)
	}
	if err == nil && event.guild.ID == "" {
		err = errNoObject
	}
	return event, err
}

func (c *cache) onGuildCreate(data []byte) error {
	event, err := decodeGuild(data)
	if err != nil {
		return err
	}
	guild, channels := event.guild, discordclient.GuildChannels(event.Channels, event.guild.ID)
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guild(guild.ID)
	if event.Unavailable != nil && *event.Unavailable {
		g.setState(PresenceUnavailable, g.snap().Mode, g.snap().AsOf)
		return nil
	}
	since := c.connecting
	if g.goneAt.After(since) {
		since = g.goneAt // it came back within one session
	}
	g.live, g.liveAt, g.retry = true, time.Now(), 0
	g.markFresh()
	g.nextPoll = g.liveAt.Add(c.period(g))
	c.forgetAllHooks(g)
	g.update(func(s *Snapshot) {
		s.selfKnown = false
		for _, m := range event.Members {
			if m.User.ID == c.selfID {
				s.selfRoles, s.selfKnown = m.Roles, true
			}
		}
	})
	if !g.guildAt.Before(since) {
		guild = g.snap().Guild // an own write made while the session began
		c.markStale(g, consistencyDelay)
	}
	changed := g.setGuild(guild, since)
	g.setChannels(channels, since, since)
	g.setState(PresencePresent, ModeLive, since)
	if changed {
		c.emit(EventGuild, g.id, "")
	}
	c.metrics.resyncs.WithLabelValues("gateway").Inc()
	return nil
}

// onGuildUpdate takes over settings and roles.
func (c *cache) onGuildUpdate(data []byte) error {
	event, err := decodeGuild(data)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guild(event.guild.ID)
	if now := time.Now(); g.pendingFor(g.id).event(event.guild, now) && g.setGuild(event.guild, now) {
		c.emit(EventGuild, g.id, "")
	}
	return nil
}

// onGuildDelete distinguishes an outage ("unavailable" is there) from the bot's removal (it is not).
func (c *cache) onGuildDelete(data []byte) error {
	event, err := decodeGuild(data)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guild(event.guild.ID)
	g.goneAt, g.recent = time.Now(), nil // what comes back has all that came until now
	if event.Unavailable != nil {
		g.live = false
		g.nextPoll = time.Now().Add(c.resync)
		g.setState(PresenceUnavailable, ModePolled, time.Now())
		c.wake()
		return nil
	}
	c.absent(g, time.Now())
	return nil
}

// absent takes over that the bot is not in a guild, which is as live as its state would be. The lock is held.
func (c *cache) absent(g *guildState, asOf time.Time) {
	g.live, g.liveAt = true, time.Now()
	g.markFresh()
	g.nextPoll = g.liveAt.Add(c.period(g))
	g.setState(PresenceAbsent, ModeLive, asOf)
}

func (c *cache) onChannel(data []byte) error {
	var channel discordclient.Channel
	if err := json.Unmarshal(data, &channel); err != nil {
		return err
	}
	if channel.GuildID == "" || channel.ID == "" || channel.IsThread() {
		return nil // a direct message, or a thread
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guild(channel.GuildID)
	if now := time.Now(); g.pendingFor(channel.ID).event(&channel, now) && g.setChannel(&channel, now) {
		c.emit(EventChannel, g.id, channel.ID)
	}
	return nil
}

func (c *cache) onChannelDelete(data []byte) error {
	var channel discordclient.Channel
	if err := json.Unmarshal(data, &channel); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.guilds[channel.GuildID]; g != nil && g.dropChannel(channel.ID, time.Now()) {
		c.emit(EventChannel, g.id, channel.ID)
	}
	return nil
}
