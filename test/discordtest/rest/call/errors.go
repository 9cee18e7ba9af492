// SPDX-License-Identifier: Apache-2.0

package call

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Error is an error response. Some HTTP statuses are known only from reports of users.
type Error struct {
	Status  int    `json:"-"`
	Code    int    `json:"code"`
	Message string `json:"message"`
	Errors  any    `json:"errors,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// For returns the error as Discord sends it or, if compatible is true, as a server with a
// compatible API sends it.
func (e *Error) For(compatible bool) *Error {
	switch {
	case !compatible:
		return e
	case e.Code == ErrPermissions.Code || e.Code == ErrMissingAccess.Code:
		return &Error{Status: http.StatusBadRequest, Code: ErrPermissions.Code, Message: ErrPermissions.Message}
	}
	return &Error{Status: e.Status, Code: e.Status, Message: e.Message, Errors: e.Errors}
}

func refusal(status, code int, message string) *Error {
	return &Error{Status: status, Code: code, Message: message}
}

// Error responses without nested errors of fields.
var (
	ErrUnauthorized     = refusal(http.StatusUnauthorized, 0, "401: Unauthorized")
	ErrNotFound         = refusal(http.StatusNotFound, 0, "404: Not Found")
	ErrMethod           = refusal(http.StatusMethodNotAllowed, 0, "405: Method Not Allowed")
	ErrUnknownChannel   = refusal(http.StatusNotFound, 10003, "Unknown Channel")
	errUnknownGuild     = refusal(http.StatusNotFound, 10004, "Unknown Guild")
	ErrUnknownMember    = refusal(http.StatusNotFound, 10007, "Unknown Member")
	ErrUnknownMessage   = refusal(http.StatusNotFound, 10008, "Unknown Message")
	ErrUnknownOverwrite = refusal(http.StatusNotFound, 10009, "Unknown Overwrite")
	ErrUnknownRole      = refusal(http.StatusNotFound, 10011, "Unknown Role")
	ErrUnknownUser      = refusal(http.StatusNotFound, 10013, "Unknown User")
	ErrUnknownEmoji     = refusal(http.StatusBadRequest, 10014, "Unknown Emoji")
	errUnknownWebhook   = refusal(http.StatusNotFound, 10015, "Unknown Webhook")
	ErrUnknownTag       = refusal(http.StatusNotFound, 10087, "Unknown Tag")
	ErrBotsCannot       = refusal(http.StatusForbidden, 20001, "Bots cannot use this endpoint")
	ErrNetwork          = refusal(http.StatusForbidden, 40333, "internal network error")
	ErrFeatureDisabled  = refusal(http.StatusForbidden, 40006, "This feature has been temporarily disabled")
	ErrTwoParents       = refusal(http.StatusBadRequest, 40009, "Only one channel can change its parent in a request")
	ErrTagNames         = refusal(http.StatusBadRequest, 40061, "Tag names must be unique")
	ErrNoOpenTag        = refusal(http.StatusBadRequest, 40066,
		"There are no tags available that can be set by non-moderators")
	ErrInternal         = refusal(http.StatusInternalServerError, 0, "500: Internal Server Error")
	ErrMissingAccess    = refusal(http.StatusForbidden, 50001, "Missing Access")
	ErrEmptyMessage     = refusal(http.StatusBadRequest, 50006, "Cannot send an empty message")
	ErrNonTextChannel   = refusal(http.StatusBadRequest, 50008, "Cannot send messages in a non-text channel")
	ErrPermissions      = refusal(http.StatusForbidden, 50013, "Missing Permissions")
	ErrChannelType      = refusal(http.StatusBadRequest, 50024, "Cannot execute action on this channel type")
	errWebhookToken     = refusal(http.StatusUnauthorized, 50027, "Invalid Webhook Token")
	ErrInvalidRole      = refusal(http.StatusBadRequest, 50028, "Invalid Role")
	ErrCommunityNeeds   = refusal(http.StatusBadRequest, 50074, "Cannot delete a channel required for Community guilds")
	ErrCommunityText    = refusal(http.StatusBadRequest, 50086, "Community server channels must be text channels")
	ErrBoosts           = refusal(http.StatusBadRequest, 50101, "This server needs more boosts to perform this action")
	ErrOnboarding       = refusal(http.StatusBadRequest, 350003, "Onboarding channels must be readable by everyone")
	ErrJSON             = refusal(http.StatusBadRequest, 50109, "The request body contains invalid JSON.")
	ErrForumNeedsThread = refusal(http.StatusBadRequest, 220001,
		"Webhooks posted to forum channels must have a thread_name or thread_id")
	errTwoFactor = refusal(http.StatusForbidden, 60003, "Two factor is required for this operation")
)

// LimitReached returns the error for a create above the quantity limit n.
func LimitReached(code int, what string, n int) *Error {
	return refusal(http.StatusBadRequest, code, fmt.Sprintf("Maximum number of %s reached (%d)", what, n))
}

type fieldError struct{ path, code, message string }

// Invalid returns error 50035 (Invalid Form Body) with a nested error of one field.
func Invalid(path, code, message string) *Error {
	return invalidForm(fieldError{path, code, message})
}

// invalidForm returns error 50035. The dots in a field's path separate nested objects.
func invalidForm(fields ...fieldError) *Error {
	root := map[string]any{}
	for _, f := range fields {
		at := root
		for _, key := range strings.Split(f.path, ".") {
			next, ok := at[key].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[key] = next
			}
			at = next
		}
		list, _ := at["_errors"].([]map[string]any)
		at["_errors"] = append(list, map[string]any{"code": f.code, "message": f.message})
	}
	return &Error{Status: http.StatusBadRequest, Code: 50035, Message: "Invalid Form Body", Errors: root}
}

// TooMany is a 429 response. After is the time until the client may call again.
type TooMany struct {
	After time.Duration
	// Scope is user, global or shared. A 429 counts toward a ban, unless its scope is shared.
	Scope string
}

// Error implements error.
func (e *TooMany) Error() string {
	if e.Scope == "shared" {
		return "The resource is being rate limited."
	}
	return "You are being rate limited."
}

// Write sets the headers of the 429 and returns its status and body.
func (e *TooMany) Write(h http.Header) (status int, body any) {
	h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.After.Seconds()))))
	h.Set("X-RateLimit-Scope", e.Scope)
	if e.Scope == "global" {
		h.Set("X-RateLimit-Global", "true")
	}
	return http.StatusTooManyRequests, map[string]any{
		"message": e.Error(), "global": e.Scope == "global", "code": 0,
		"retry_after": math.Ceil(e.After.Seconds()*1000) / 1000,
	}
}

// CloudflareBan returns the HTML response to an IP address that stays banned for the time left.
func CloudflareBan(left time.Duration) Answer {
	return Answer{
		Status: http.StatusTooManyRequests,
		Header: http.Header{
			"Content-Type": {"text/html; charset=UTF-8"}, "Retry-After": {strconv.Itoa(int(left.Seconds()) + 1)},
			"Server": {"cloudflare"},
		},
		Body: []byte("<!DOCTYPE html><title>Access denied | discord.com used Cloudflare to restrict access</title>" +
			"<p>Error 1015: You are being rate limited</p>"),
	}
}
