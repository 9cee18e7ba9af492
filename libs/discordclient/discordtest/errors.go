package discordtest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// apiError is an answer that is an error: {code, message, errors?}. Codes are documented ("JSON error codes"); the
// HTTP statuses of some are known from reports only.
type apiError struct {
	Status  int    `json:"-"`
	Code    int    `json:"code"`
	Message string `json:"message"`
	Errors  any    `json:"errors,omitempty"`
}

// Error makes it an error; nobody but tests reads it.
func (e *apiError) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// Errors that need no detail.
var (
	errUnauthorized     = &apiError{Status: http.StatusUnauthorized, Code: 0, Message: "401: Unauthorized"}
	errNotFound         = &apiError{Status: http.StatusNotFound, Code: 0, Message: "404: Not Found"}
	errMethod           = &apiError{Status: http.StatusMethodNotAllowed, Code: 0, Message: "405: Method Not Allowed"}
	errUnknownChannel   = &apiError{Status: http.StatusNotFound, Code: 10003, Message: "Unknown Channel"}
	errUnknownGuild     = &apiError{Status: http.StatusNotFound, Code: 10004, Message: "Unknown Guild"}
	errUnknownMember    = &apiError{Status: http.StatusNotFound, Code: 10007, Message: "Unknown Member"}
	errUnknownMessage   = &apiError{Status: http.StatusNotFound, Code: 10008, Message: "Unknown Message"}
	errUnknownOverwrite = &apiError{Status: http.StatusNotFound, Code: 10009, Message: "Unknown Overwrite"}
	errUnknownUser      = &apiError{Status: http.StatusNotFound, Code: 10013, Message: "Unknown User"}
	errUnknownWebhook   = &apiError{Status: http.StatusNotFound, Code: 10015, Message: "Unknown Webhook"}
	errBotsCannot       = &apiError{Status: http.StatusForbidden, Code: 20001, Message: "Bots cannot use this endpoint"}
	errNetwork          = &apiError{Status: http.StatusForbidden, Code: 40333, Message: "internal network error"}
	errTwoParents       = &apiError{Status: http.StatusBadRequest, Code: 40009, Message: "Only one channel can change its parent in a request"}
	errMissingAccess    = &apiError{Status: http.StatusForbidden, Code: 50001, Message: "Missing Access"}
	errEmptyMessage     = &apiError{Status: http.StatusBadRequest, Code: 50006, Message: "Cannot send an empty message"}
	errNonTextChannel   = &apiError{Status: http.StatusBadRequest, Code: 50008, Message: "Cannot send messages in a non-text channel"}
	errPermissions      = &apiError{Status: http.StatusForbidden, Code: 50013, Message: "Missing Permissions"}
	errChannelType      = &apiError{Status: http.StatusBadRequest, Code: 50024, Message: "Cannot execute action on this channel type"}
	errWebhookToken     = &apiError{Status: http.StatusUnauthorized, Code: 50027, Message: "Invalid Webhook Token"}
	errCommunityNeeds   = &apiError{Status: http.StatusBadRequest, Code: 50074, Message: "Cannot delete a channel required for Community guilds"}
	errCommunityText    = &apiError{Status: http.StatusBadRequest, Code: 50086, Message: "Community server channels must be text channels"}
	errJSON             = &apiError{Status: http.StatusBadRequest, Code: 50109, Message: "The request body contains invalid JSON."}
	errForumNeedsThread = &apiError{Status: http.StatusBadRequest, Code: 220001, Message: "Webhooks posted to forum channels must have a thread_name or thread_id"}
	errTwoFactor        = &apiError{Status: http.StatusForbidden, Code: 60003, Message: "Two factor is required for this operation"}
)

// limitReached is the answer to one thing too many: 30013 and its kin.
func limitReached(code int, what string, n int) *apiError {
	return &apiError{Status: http.StatusBadRequest, Code: code, Message: fmt.Sprintf("Maximum number of %s reached (%d)", what, n)}
}

// fieldError is one leaf of the nested errors: the path to the field, Discord's text code and the message.
type fieldError struct{ path, code, message string }

// invalidForm is 50035 with the nested errors; a path is written with dots ("permission_overwrites.0.allow").
func invalidForm(fields ...fieldError) *apiError {
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
	return &apiError{Status: http.StatusBadRequest, Code: 50035, Message: "Invalid Form Body", Errors: root}
}

// tooMany is an answer 429.
type tooMany struct {
	after time.Duration
	// scope is user, global or shared; shared ones do not count as invalid requests.
	scope string
	code  int
}

// Error makes it an error.
func (e *tooMany) Error() string {
	if e.scope == "shared" {
		return "The resource is being rate limited."
	}
	return "You are being rate limited."
}
