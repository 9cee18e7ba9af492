// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	apiPath     = "/api/v10"
	gatewayPath = "/live-gateway"
	// maxBody limits a body, in bytes. It is larger than a list of all channels of a server.
	maxBody = 16 << 20
	// maxSubject limits the length, in bytes, of a recorded name from a request.
	maxSubject = 12
	// secondClient is the user agent of calls by [bot], which distinguishes them from the operator's.
	secondClient = "DiscordBot (https://jutsu.com/operators, live)"
)

type proxy struct {
	upstream *url.URL // URL of Discord's API, with its path
	own      *territory
	url      string // address of the proxy, without a path
	server   *http.Server
	running  sync.WaitGroup // counts calls in progress
	// dial connects to the Gateway; nil means http.DefaultTransport.
	dial http.RoundTripper

	mu       sync.Mutex
	step     string
	recorded recording
	lose     string // the call for which the proxy drops the next successful response
	lost     int
	refused  []string
	limited  int // number of 429 responses
	gateway  *url.URL
}

func startProxy(upstream *url.URL, own *territory) (*proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{upstream: upstream, own: own, url: "http://" + listener.Addr().String(), recorded: recording{}}
	mux := http.NewServeMux()
	mux.HandleFunc(apiPath+"/", p.serveCall)
	mux.HandleFunc(gatewayPath+"/", p.serveGateway)
	p.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

func (p *proxy) close() { _ = p.server.Close() }

func (p *proxy) apiURL() string { return p.url + apiPath }

func (p *proxy) enter(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = step
}

// loseNext makes the proxy drop the next successful response to a call "METHOD /template".
func (p *proxy) loseNext(call string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = call
}

// note records a value that is not a response of Discord, for example a condition.
func (p *proxy) note(about, field, value string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := key{step: p.step, caller: "operator", call: about}
	if p.recorded[k] == nil {
		p.recorded[k] = fields{statusField: "noted"}
	}
	p.recorded[k][field] = value
}

func (p *proxy) forget(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.recorded, func(k key, _ fields) bool { return k.step == step })
}

func (p *proxy) lostAnswers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

func (p *proxy) violations() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.refused) == 0 {
		return nil
	}
	return fmt.Errorf("calls outside of this run's own objects were refused: %s", strings.Join(p.refused, "; "))
}

func (p *proxy) serveCall(w http.ResponseWriter, r *http.Request) {
	p.running.Add(1)
	defer p.running.Done()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
		return
	}
	c := newCall(r.Method, strings.TrimPrefix(r.URL.Path, apiPath), body)
	if why := p.own.refusal(c); why != "" {
		p.refuse(w, c, why)
		return
	}
	p.mu.Lock()
	step := p.step
	p.mu.Unlock()
	response, answer, err := p.forward(r, body) //nolint:bodyclose // forward has closed it
	if err != nil {
		http.Error(w, "the Discord behind the proxy cannot be reached", http.StatusBadGateway)
		return
	}
	var read any
	if json.Unmarshal(answer, &read) != nil {
		read = nil
	}
	if response.StatusCode < http.StatusMultipleChoices {
		p.own.learn(c, read)
	}
	if p.record(step, caller(r), c, response, read) {
		panic(http.ErrAbortHandler) // closes the connection without a response
	}
	if c.route == "/gateway/bot" {
		answer = p.ownGateway(answer, asObject(read))
	}
	p.answer(w, response, answer)
}

func caller(r *http.Request) string {
	if r.UserAgent() == secondClient {
		return "client"
	}
	return "operator"
}

func (p *proxy) refuse(w http.ResponseWriter, c call, why string) {
	p.mu.Lock()
	p.refused = append(p.refused, c.String()+": "+why)
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	why = "refused by the proxy of discord-live: " + why
	_, _ = fmt.Fprintf(w, `{"code": 50013, "message": %q}`, why) //nolint:gosec // G705: JSON
}

// forward ignores a cancellation by the client, so that the run knows all objects it has created.
func (p *proxy) forward(r *http.Request, body []byte) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Minute)
	defer cancel()
	target := *p.upstream
	target.Path += strings.TrimPrefix(r.URL.Path, apiPath)
	target.RawQuery = r.URL.RawQuery
	request, err := http.NewRequestWithContext(ctx, r.Method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header = r.Header.Clone()
	for _, name := range []string{"Accept-Encoding", "Connection"} {
		request.Header.Del(name)
	}
	response, err := noRedirects.Do(request) //nolint:gosec // G704: the user names the server
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	return response, answer, err
}

var noRedirects = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// record omits the operator's reads, because their number varies, and only counts 429 responses.
func (p *proxy) record(step, from string, c call, response *http.Response, answer any) (lost bool) {
	subject, _ := p.own.own(c.subject())
	if name, ok := p.own.short(text(asObject(c.body), "name")); ok && subject == "" {
		subject = name[:min(maxSubject, len(name))]
	}
	if created, ok := p.own.own(text(asObject(answer), "id")); ok {
		subject = created
	}
	f := p.own.answerFields(c, response.StatusCode, response.Header, answer)
	p.mu.Lock()
	defer p.mu.Unlock()
	if response.StatusCode == http.StatusTooManyRequests {
		p.limited++
		return false
	}
	if from != "operator" || !c.reads() {
		p.recorded[key{step: step, caller: from, call: c.String(), subject: subject}] = f
	}
	if p.lose == c.String() && response.StatusCode < http.StatusMultipleChoices {
		p.lose = ""
		p.lost++
		return true
	}
	return false
}

func (p *proxy) answer(w http.ResponseWriter, response *http.Response, body []byte) {
	for name, values := range response.Header {
		if name != "Content-Length" && name != "Connection" && name != "Transfer-Encoding" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(response.StatusCode)
	_, _ = w.Write(body) //nolint:gosec // G705: JSON of Discord for its client
}

// ownGateway replaces the Gateway's address in answer by the proxy's address, because the operator
// refuses a Gateway at another host than the API.
func (p *proxy) ownGateway(answer []byte, start map[string]any) []byte {
	address, err := url.Parse(text(start, "url"))
	if err != nil || address.Host == "" {
		return answer
	}
	p.mu.Lock()
	p.gateway = address
	p.mu.Unlock()
	start["url"] = "ws" + strings.TrimPrefix(p.url, "http") + gatewayPath + "/"
	changed, err := json.Marshal(start)
	if err != nil {
		return answer
	}
	return changed
}

// serveGateway forwards a websocket connection without reading its frames.
func (p *proxy) serveGateway(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	gateway := p.gateway
	p.mu.Unlock()
	if gateway == nil {
		http.Error(w, "ask for the Gateway first", http.StatusNotFound)
		return
	}
	forward := &httputil.ReverseProxy{
		Transport: p.dial,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme = strings.Replace(gateway.Scheme, "ws", "http", 1)
			r.Out.URL.Host, r.Out.URL.Path, r.Out.Host = gateway.Host, "/"+strings.Trim(gateway.Path, "/"), gateway.Host
		},
		ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if !errors.Is(err, context.Canceled) {
				w.WriteHeader(http.StatusBadGateway)
			}
		},
	}
	forward.ServeHTTP(w, r)
}
