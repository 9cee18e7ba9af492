package guildcache

import (
	"context"
	"sync"
)

// Event says that something of a guild has changed on Discord, by a user or another program. What this Client's own
// calls change is not reported, but for what they change besides: the channels of a category that was deleted, and a
// channel that a call did not find. The state may also turn out to be as it was: look into the view.
type Event struct {
	Kind      EventKind
	GuildID   string
	ChannelID string // empty for what is about the whole guild
}

// EventKind is what an event is about.
type EventKind string

// A guild event is about settings, roles, or that its presence or mode changed; a channel event about one channel that
// came, changed or went; a webhooks event about the webhooks of a channel.
const (
	EventGuild    EventKind = "guild"
	EventChannel  EventKind = "channel"
	EventWebhooks EventKind = "webhooks"
)

// subscription is a queue without bound in time and bounded in size by the number of objects: an event that was not
// taken yet is not queued again. So a slow reader loses nothing and never holds up the Gateway.
type subscription struct {
	mu     sync.Mutex
	queue  []Event
	queued map[Event]struct{}
	wake   chan struct{}
}

// subscribe implements Client.Subscribe.
func (c *cache) subscribe(ctx context.Context) <-chan Event {
	s := &subscription{queued: map[Event]struct{}{}, wake: make(chan struct{}, 1)}
	c.mu.Lock()
	c.subs[s] = struct{}{}
	c.mu.Unlock()
	out := make(chan Event)
	go func() {
		defer close(out)
		defer func() { c.mu.Lock(); delete(c.subs, s); c.mu.Unlock() }()
		s.deliver(ctx, out)
	}()
	return out
}

// deliver hands out events until the context ends.
func (s *subscription) deliver(ctx context.Context, out chan<- Event) {
	for {
		e, ok := s.take()
		if !ok {
			select {
			case <-ctx.Done():
				return
			case <-s.wake:
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case out <- e:
		}
	}
}

func (s *subscription) take() (Event, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return Event{}, false
	}
	e := s.queue[0]
	s.queue = s.queue[1:]
	delete(s.queued, e)
	return e, true
}

func (s *subscription) put(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.queued[e]; ok {
		return
	}
	s.queued[e] = struct{}{}
	s.queue = append(s.queue, e)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// emit queues an event for all subscribers. The lock is held.
func (c *cache) emit(kind EventKind, guildID, channelID string) {
	for s := range c.subs {
		s.put(Event{kind, guildID, channelID})
	}
}
