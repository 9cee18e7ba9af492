package discordclient

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Bounds on what is taken over from an error body, which somebody else wrote.
const (
	maxFields     = 20
	maxFieldDepth = 16
	maxTextRunes  = 300
)

// errorBody is the form of Discord's error answers, and of its 429.
type errorBody struct {
	Code       int             `json:"code"`
	Message    string          `json:"message"`
	Errors     json.RawMessage `json:"errors"`
	RetryAfter float64         `json:"retry_after"`
	Global     bool            `json:"global"`
}

// parseErrorBody reads an error body; ok is false for one that is not in Discord's form (HTML of a proxy, say).
func parseErrorBody(body []byte) (code int, message string, fields []Field, ok bool) {
	var b errorBody
	if err := json.Unmarshal(body, &b); err != nil {
		return 0, "", nil, false
	}
	collectFields(b.Errors, "", 0, &fields)
	slices.SortStableFunc(fields, func(a, b Field) int { return strings.Compare(a.Path, b.Path) })
	return b.Code, clean(b.Message), fields, true
}

// collectFields walks Discord's error tree, which mirrors the request: objects by key, arrays by index, and under
// "_errors" the complaints.
func collectFields(raw json.RawMessage, path string, depth int, fields *[]Field) {
	var node map[string]json.RawMessage
	if depth > maxFieldDepth || len(raw) == 0 || json.Unmarshal(raw, &node) != nil {
		return
	}
	keys := make([]string, 0, len(node))
	for key := range node {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if len(*fields) >= maxFields {
			return
		}
		if key == "_errors" {
			collectLeaves(node[key], path, fields)
			continue
		}
		collectFields(node[key], joinPath(path, key), depth+1, fields)
	}
}

// collectLeaves reads the complaints at one place. Their code is a string, though the OpenAPI description says integer.
func collectLeaves(raw json.RawMessage, path string, fields *[]Field) {
	var leaves []struct {
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(raw, &leaves) != nil {
		return
	}
	for _, leaf := range leaves {
		if len(*fields) >= maxFields {
			return
		}
		*fields = append(*fields, Field{Path: path, Code: clean(strings.Trim(string(leaf.Code), `"`)), Message: clean(leaf.Message)})
	}
}

// joinPath appends a key to a path: a number is an index.
func joinPath(path, key string) string {
	if _, err := strconv.Atoi(key); err == nil {
		return path + "[" + key + "]"
	}
	if path == "" {
		return clean(key)
	}
	return path + "." + clean(key)
}

// clean makes a text of somebody else fit for a log line and a status: one line, printable, of bounded length, no token.
func clean(text string) string {
	runes := []rune(redact(text))
	if len(runes) > maxTextRunes {
		runes = append(runes[:maxTextRunes], '…')
	}
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = ' '
		}
	}
	return strings.TrimSpace(string(runes))
}
