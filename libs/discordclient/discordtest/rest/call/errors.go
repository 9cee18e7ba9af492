package call

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Error is an answer that is an error: {code, message, errors?}. Codes are documented ("JSON error codes"); the
// HTTP statuses of some are known from reports only.
type Error struct {
	Status  int    `json:"-"`
	Code    int    `json:"code"`
	Message string `json:"message"`
	Errors  any    `json:"errors,omitempty"`
}

// Error makes it an error; nobody but tests reads it.
func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// Errors that need no detail.
var (
	ErrUnauthorized     = &Error{Status: http.StatusUnauthorized, Code: 0, Message: "401: Unauthorized"}
	ErrNotFound         = &Error{Status: http.StatusNotFound, Code: 0, Message: "404: Not Found"}
	ErrMethod           = &Error{Status: http.StatusMethodNotAllowed, Code: 0, Message: "405: Method Not Allowed"}
	ErrUnknownChannel   = &Error{Status: http.StatusNotFound, Code: 10003, Message: "Unknown Channel"}
	errUnknownGuild     = &Error{Status: http.StatusNotFound, Code: 10004, Message: "Unknown Guild"}
	ErrUnknownMember    = &Error{Status: http.StatusNotFound, Code: 10007, Message: "Unknown Member"}
	ErrUnknownMessage   = &Error{Status: http.StatusNotFound, Code: 10008, Message: "Unknown Message"}
	ErrUnknownOverwrite = &Error{Status: http.StatusNotFound, Code: 10009, Message: "Unknown Overwrite"}
	ErrUnknownUser      = &Error{Status: http.StatusNotFound, Code: 10013, Message: "Unknown User"}
	errUnknownWebhook   = &Error{Status: http.StatusNotFound, Code: 10015, Message: "Unknown Webhook"}
	ErrBotsCannot       = &Error{Status: http.StatusForbidden, Code: 20001, Message: "Bots cannot use this endpoint"}
	ErrNetwork          = &Error{Status: http.StatusForbidden, Code: 40333, Message: "internal network error"}
	ErrTwoParents       = &Error{Status: http.StatusBadRequest, Code: 40009, Message: "Only one channel can change its parent in a request"}
	ErrMissingAccess    = &Error{Status: http.StatusForbidden, Code: 50001, Message: "Missing Access"}
	ErrEmptyMessage     = &Error{Status: http.StatusBadRequest, Code: 50006, Message: "Cannot send an empty message"}
	ErrNonTextChannel   = &Error{Status: http.StatusBadRequest, Code: 50008, Message: "Cannot send messages in a non-text channel"}
	ErrPermissions      = &Error{Status: http.StatusForbidden, Code: 50013, Message: "Missing Permissions"}
	ErrChannelType      = &Error{Status: http.StatusBadRequest, Code: 50024, Message: "Cannot execute action on this channel type"}
	errWebhookToken     = &Error{Status: http.StatusUnauthorized, Code: 50027, Message: "Invalid Webhook Token"}
	ErrCommunityNeeds   = &Error{Status: http.StatusBadRequest, Code: 50074, Message: "Cannot delete a channel required for Community guilds"}
	ErrCommunityText    = &Error{Status: http.StatusBadRequest, Code: 50086, Message: "Community server channels must be text channels"}
	ErrJSON             = &Error{Status: http.StatusBadRequest, Code: 50109, Message: "The request body contains invalid JSON."}
	ErrForumNeedsThread = &Error{Status: http.StatusBadRequest, Code: 220001, Message: "Webhooks posted to forum channels must have a thread_name or thread_id"}
	errTwoFactor        = &Error{Status: http.StatusForbidden, Code: 60003, Message: "Two factor is required for this operation"}
)

// LimitReached is the answer to one thing too many: 30013 and its kin.
func LimitReached(code int, what string, n int) *Error {
	return &Error{Status: http.StatusBadRequest, Code: code, Message: fmt.Sprintf("Maximum number of %s reached (%d)", what, n)}
}

// fieldError is one leaf of the nested errors: the path to the field, Discord's text code and the message.
type fieldError struct{ path, code, message string }

// Invalid is invalidForm with one field.
func Invalid(path, code, message string) *Error {
	return invalidForm(fieldError{path, code, message})
}

// invalidForm is 50035 with the nested errors; a path is written with dots ("permission_overwrites.0.allow").
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

// TooMany is an answer 429.
type TooMany struct {
	After time.Duration
	// Scope is user, global or shared; shared ones do not count as invalid requests.
	Scope string
}

// Error makes it an error.
func (e *TooMany) Error() string {
	if e.Scope == "shared" {
		return "The resource is being rate limited."
	}
	return "You are being rate limited."
}

// Write puts the 429 into an answer: the header in whole seconds, the body with the fraction.
func (e *TooMany) Write(h http.Header) (status int, body any) {
	h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.After.Seconds()))))
	h.Set("X-RateLimit-Scope", e.Scope)
	if e.Scope == "global" {
		h.Set("X-RateLimit-Global", "true")
	}
	return http.StatusTooManyRequests, map[string]any{
		"message": e.Error(), "retry_after": math.Ceil(e.After.Seconds()*1000) / 1000, "global": e.Scope == "global", "code": 0,
	}
}

// CloudflareBan is what an address gets that made too many invalid requests: HTML, no JSON.
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
