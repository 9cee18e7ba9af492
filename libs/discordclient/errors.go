// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient/internal/ratelimit"
)

// Class groups errors by how the caller should react.
type Class string

const (
	// ClassNone is the class of a nil error.
	ClassNone Class = ""
	// ClassGone means: the object does not exist. For a delete, this is success. Discord sends
	// 10004 (unknown guild) for healthy guilds too: check twice.
	ClassGone Class = "gone"
	// ClassDenied means: the bot lacks a permission. Retries count in [InvalidRequests].
	ClassDenied Class = "denied"
	// ClassBadToken means: Discord refuses the token. The Client sends no further call.
	ClassBadToken Class = "bad-token"
	// ClassInvalid means: the request is wrong. The same request fails again.
	ClassInvalid Class = "invalid"
	// ClassLimit means: a limit is reached (500 channels, 50 per category, 250 roles, 15 webhooks)
	// or other objects conflict. The call may succeed later.
	ClassLimit Class = "limit-reached"
	// ClassRateLimited means: too many calls. The error is a *[RateLimited] with the time to wait.
	ClassRateLimited Class = "rate-limited"
	// ClassTransient means: the call had no effect and may succeed later.
	ClassTransient Class = "transient"
	// ClassUnknown means: the call may have had its effect. Never repeat a create: see recovery.
	ClassUnknown Class = "outcome-unknown"
)

// RateLimited is the error of a call that a rate limit refused.
type RateLimited struct {
	Op    string        // such as "create channel"
	After time.Duration // time to wait, more than 0
	// Scope is user (this bot and bucket), shared (all bots, this resource), global (all calls),
	// tenant (half of all calls), hidden (a channel's name or topic), unknown (the first call of a
	// route is in flight) or blocked (by Cloudflare, or after too many refusals).
	Scope string
	Local bool // whether the Client refused the call without sending it
	// Refusals is true if the Client did not send the call after too many refusals by Discord.
	Refusals bool
}

// Queued reports whether the caller has a place in the queue of [WithCaller].
func (e *RateLimited) Queued() bool {
	return e.Local && (e.Scope == ratelimit.ScopeGlobal || e.ExceedsShare())
}

// ExceedsShare reports whether the tenant has used up its half of [Options].GlobalPerSecond.
func (e *RateLimited) ExceedsShare() bool { return e.Scope == ratelimit.ScopeTenant }

// Blocked reports whether Cloudflare refused the call, or the Client pauses after too many
// refusals. Both may happen again after the wait.
func (e *RateLimited) Blocked() bool { return e.Scope == ratelimit.ScopeBlocked }

func (e *RateLimited) Error() string {
	return fmt.Sprintf("%s: rate limited (%s) for another %s", e.Op, e.Scope, e.After.Round(time.Millisecond))
}

// Field is one field of a request that Discord rejects.
type Field struct {
	Path    string // such as "permission_overwrites[0].allow"; empty for the whole request
	Code    string // such as "BASE_TYPE_BAD_LENGTH"
	Message string
}

// Error is every failure except a rate limit. It never contains a token or a webhook's URL.
type Error struct {
	Class   Class
	Op      string  // such as "create channel"
	Status  int     // HTTP status; 0 without a response
	Code    int     // Discord's own error code, 0 for none
	Message string  // Discord's message; without a response, the text of the failure
	Fields  []Field // the rejected fields, ordered by path
	unsent  bool
	cause   error // context.Canceled, context.DeadlineExceeded or Guard's error: none holds a secret
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Op, e.Class)
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	for i, f := range e.Fields {
		b.WriteString(map[bool]string{true: ": ", false: "; "}[i == 0])
		if f.Path != "" {
			b.WriteString(f.Path + ": ")
		}
		b.WriteString(f.Message)
		if f.Code != "" {
			b.WriteString(" [" + f.Code + "]")
		}
	}
	switch {
	case e.Code != 0:
		fmt.Fprintf(&b, " (HTTP %d, code %d)", e.Status, e.Code)
	case e.Status != 0:
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	return b.String()
}

// Unwrap returns the error of the context or [Options].Guard that ended the call, otherwise nil.
func (e *Error) Unwrap() error { return e.cause }

// ClassOf returns the class of an *[Error] or *[RateLimited], which may be wrapped. It returns
// ClassNone for nil and ClassTransient for all other errors.
func ClassOf(err error) Class {
	if err == nil {
		return ClassNone
	}
	if _, ok := errors.AsType[*RateLimited](err); ok {
		return ClassRateLimited
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return ClassTransient
}

// CodeOf returns Discord's error code, or 0 if the error has none.
func CodeOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return 0
}

// Source: https://discord.com/developers/docs/topics/opcodes-and-status-codes.
const (
	codeAntiAbuse             = 10008
	codeBlocked               = 40333 // "internal network error": Cloudflare blocks the client
	codeMaxGuildWebhooks      = 30058
	codeMaxOverwrites         = 30060
	codeTooManyGuildChannels  = 30061 // Discord documents this code as a limit, like 30060
	fieldCodeMaxChannelParent = "CHANNEL_PARENT_MAX_CHANNELS"
)

// classifyForeign classifies a response without Discord's error body, as from a proxy. A proxy's
// 401 does not prove that the token is bad. cut reports whether the body ended early.
func classifyForeign(status int, cut, mutating bool) Class {
	switch {
	case status == 401, cut && !mutating:
		return ClassTransient
	case cut:
		return ClassUnknown
	}
	return classify(status, 0, nil, mutating)
}

func classify(status, code int, fields []Field, mutating bool) Class {
	switch code {
	case discordgo.ErrCodeUnknownChannel, discordgo.ErrCodeUnknownGuild, discordgo.ErrCodeUnknownOverwrite,
		discordgo.ErrCodeUnknownRole, discordgo.ErrCodeUnknownUser, discordgo.ErrCodeUnknownWebhook,
		discordgo.ErrCodeInvalidWebhookTokenProvided:
		return ClassGone
	case discordgo.ErrCodeMaximumNumberOfWebhooksReached, discordgo.ErrCodeMaximumNumberOfGuildChannelsReached,
		discordgo.ErrCodeMaximumGuildRolesReached, codeMaxGuildWebhooks, codeMaxOverwrites, codeTooManyGuildChannels:
		return ClassLimit
	case codeAntiAbuse, discordgo.ErrCodeMissingPermissions, discordgo.ErrCodeMissingAccess:
		return ClassDenied // Discord-compatible servers send Missing Access with status 400 instead of 403
	case discordgo.ErrCodeAPIResourceIsCurrentlyOverloaded, discordgo.ErrCodeFeatureTemporarilyDisabledServerSide:
		if mutating && status >= 500 {
			return ClassUnknown // the server may have failed halfway; only a 4xx has no effect
		}
		return ClassTransient
	}
	for _, f := range fields {
		if f.Code == fieldCodeMaxChannelParent {
			return ClassLimit
		}
	}
	switch {
	case status == 401:
		return ClassBadToken
	case status == 403:
		return ClassDenied
	case status == 404 && code != 0: // without a code, the route does not exist
		return ClassGone
	case status == 409:
		return ClassLimit
	case status >= 500 && mutating:
		return ClassUnknown // 502 too: Discord says "not executed", a proxy in between may mean something else
	case status >= 500 || status == 408:
		return ClassTransient
	default:
		return ClassInvalid // 4xx, and 3xx: redirects are not followed
	}
}

func contextCause(err error) error {
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, cause) {
			return cause
		}
	}
	return nil
}

// IsHidden reports whether Discord says that an object exists but the bot may not view it.
func IsHidden(err error) bool {
	return ClassOf(err) == ClassDenied && CodeOf(err) == discordgo.ErrCodeMissingAccess
}
