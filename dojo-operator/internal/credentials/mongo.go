// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// URIKey is the additional key for MongoDB. Its value is a connection string with the credentials.
const URIKey = "DB_URI"

const (
	mongoScheme    = "mongodb://"
	mongoSRVScheme = "mongodb+srv://"
	mongoPort      = "27017"
	// Percona's operator writes keys with the form <user>_<replica set>_connectionString
	// (https://docs.percona.com/percona-operator-for-mongodb/connection-secrets.html).
	perconaSuffix = "_connectionString"
	perconaMongos = "_mongos" + perconaSuffix
)

func mongo(dojo *corev1api.Dojo) bool { return dojo.Spec.Database == corev1api.DatabaseMongo }

// connectionString has the parts of a connection string
// (https://www.mongodb.com/docs/manual/reference/connection-string).
type connectionString struct {
	scheme, userInfo string
	hosts            []string // with ports, if the string has them
	tail             string   // the database and the options
	user, password   string
	database         string
}

// translateMongo sets all keys in mongoKeys; some values can be empty.
func translateMongo(dojo *corev1api.Dojo, source *corev1.Secret) (map[string][]byte, *conditions.Issue) {
	key := uriKeyOf(source.Data)
	if key == "" {
		return mongoFromFields(dojo, source)
	}
	parsed, ok := parseMongo(string(source.Data[key]))
	if !ok {
		return nil, incomplete(dojo, source,
			"has no valid URI of MongoDB (mongodb:// or mongodb+srv://) under the key %q", key)
	}
	parsed.hosts = slices.Clone(parsed.hosts)
	if parsed.scheme == mongoScheme {
		for i, host := range parsed.hosts {
			parsed.hosts[i] = qualified(dojo, source, host)
		}
	}
	host, port := splitHost(parsed.hosts[0])
	if port == "" && parsed.scheme == mongoScheme {
		port = mongoPort
	}
	if parsed.userInfo == "" {
		parsed.user, parsed.password = string(source.Data["username"]), string(source.Data["password"])
	}
	return map[string][]byte{
		URIKey:    []byte(parsed.String()),
		hostKey:   []byte(host),
		"DB_PORT": []byte(port),
		"DB_NAME": []byte(parsed.database),
		"DB_USER": []byte(parsed.user),
		"DB_PASS": []byte(parsed.password),
	}, nil
}

func mongoFromFields(dojo *corev1api.Dojo, source *corev1.Secret) (map[string][]byte, *conditions.Issue) {
	data, issue := translateFields(dojo, source)
	if issue != nil {
		return nil, issue
	}
	text := func(key string) string { return escape(string(data[key])) }
	host := net.JoinHostPort(strings.Trim(string(data[hostKey]), "[]"), string(data["DB_PORT"]))
	uri := mongoScheme + text("DB_USER") + ":" + text("DB_PASS") + "@" + host + "/" + text("DB_NAME")
	if parsed, ok := parseMongo(uri); !ok || parsed.hosts[0] != host {
		return nil, incomplete(dojo, source, "has no host name under the key %q", "host")
	}
	data[URIKey] = []byte(uri)
	return data, nil
}

func escape(value string) string { return strings.ReplaceAll(url.QueryEscape(value), "+", "%20") }

func uriKeyOf(data map[string][]byte) string {
	for _, key := range []string{"uri", "connectionString.standard", "connectionString.standardSrv"} {
		if _, found := data[key]; found {
			return key
		}
	}
	best := ""
	for key := range data {
		if !strings.HasSuffix(key, perconaSuffix) {
			continue
		}
		// The key for mongos has priority, because clients of a sharded cluster connect to mongos.
		// Otherwise the alphabetical order makes the choice stable.
		mongos, bestMongos := strings.HasSuffix(key, perconaMongos), strings.HasSuffix(best, perconaMongos)
		if best == "" || mongos && !bestMongos || mongos == bestMongos && key < best {
			best = key
		}
	}
	return best
}

func parseMongo(uri string) (c connectionString, ok bool) {
	for _, scheme := range []string{mongoScheme, mongoSRVScheme} {
		if strings.HasPrefix(uri, scheme) {
			c.scheme = scheme
		}
	}
	unprintable := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	if c.scheme == "" || strings.ContainsFunc(uri, unprintable) {
		return c, false
	}
	authority := uri[len(c.scheme):]
	if end := strings.IndexAny(authority, "/?"); end >= 0 {
		authority, c.tail = authority[:end], authority[end:]
	}
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		c.userInfo, authority = authority[:at], authority[at+1:]
	}
	c.hosts = strings.Split(authority, ",")
	user, password, _ := strings.Cut(c.userInfo, ":")
	database, _, _ := strings.Cut(strings.TrimPrefix(c.tail, "/"), "?")
	for _, part := range []struct {
		to   *string
		from string
	}{{&c.user, user}, {&c.password, password}, {&c.database, database}} {
		text, err := url.PathUnescape(part.from)
		if err != nil {
			return c, false
		}
		*part.to = text
	}
	if c.scheme == mongoSRVScheme {
		_, port := splitHost(c.hosts[0])
		return c, len(c.hosts) == 1 && port == "" && validHost(c.hosts[0])
	}
	return c, !slices.ContainsFunc(c.hosts, func(host string) bool { return !validHost(host) })
}

func (c connectionString) String() string {
	userInfo := c.userInfo
	if userInfo != "" {
		userInfo += "@"
	}
	return c.scheme + userInfo + strings.Join(c.hosts, ",") + c.tail
}

// validHost refuses Unix sockets (percent-encoded paths): the database runs outside the pod.
func validHost(hostPort string) bool {
	host, port := splitHost(hostPort)
	if host == "" || strings.ContainsAny(host, "%@") || strings.Contains(host, ":") && net.ParseIP(host) == nil {
		return false
	}
	if port == "" {
		return !strings.HasSuffix(hostPort, ":")
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return err == nil && number > 0
}

func splitHost(hostPort string) (host, port string) {
	if host, port, err := net.SplitHostPort(hostPort); err == nil {
		return host, port
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostPort, "["), "]"), ""
}

func qualified(dojo *corev1api.Dojo, source *corev1.Secret, hostPort string) string {
	host, port := splitHost(hostPort)
	if source.Namespace == dojo.Namespace || strings.ContainsAny(host, ".:") {
		return hostPort
	}
	host += "." + source.Namespace + ".svc"
	if port != "" {
		return net.JoinHostPort(host, port)
	}
	return host
}
