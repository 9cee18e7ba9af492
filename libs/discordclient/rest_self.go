package discordclient

import (
	"context"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient/permissions"
)

func (r *rest) CurrentUser(ctx context.Context) (User, error) {
	var w struct {
		ID       string `json:"id"`
		Username string `json:"username"`
	}
	err := r.do(ctx, call{op: "get current user", method: http.MethodGet, route: "/users/@me", url: discordgo.EndpointUser("@me")}, nil, &w)
	return User{ID: w.ID, Name: w.Username}, err
}

func (r *rest) CurrentApplication(ctx context.Context) (Application, error) {
	var w struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	err := r.do(ctx, call{
		op: "get current application", method: http.MethodGet, route: "/applications/@me",
		url: discordgo.EndpointApplications + "/@me",
	}, nil, &w)
	return Application{ID: w.ID, Name: w.Name}, err
}

// membershipPage is the largest page that Discord gives.
const membershipPage = 200

func (r *rest) ListMemberships(ctx context.Context) ([]Membership, error) {
	var all []Membership
	after := "0"
	for {
		var w []*struct {
			ID          string           `json:"id"`
			Name        string           `json:"name"`
			Owner       bool             `json:"owner"`
			Permissions permissions.Bits `json:"permissions"`
		}
		err := r.do(ctx, call{
			op: "list guilds of the bot", method: http.MethodGet, route: "/users/@me/guilds",
			url: discordgo.EndpointUserGuilds("@me") + "?limit=200&after=" + after,
		}, nil, &w)
		if err != nil {
			return nil, err
		}
		last := after
		for _, g := range w {
			if g == nil {
				continue
			}
			all = append(all, Membership{ID: g.ID, Name: g.Name, Owner: g.Owner, Permissions: g.Permissions})
			if CompareIDs(g.ID, last) > 0 {
				last = g.ID
			}
		}
		if last == after { // a page that does not go on would be read for ever
			return all, nil
		}
		after = last
		if len(w) < membershipPage {
			return all, nil
		}
	}
}

func (r *rest) LeaveGuild(ctx context.Context, guildID string) error {
	return r.do(ctx, call{
		op: "leave guild", method: http.MethodDelete, route: "/users/@me/guilds/{guild_id}",
		url: discordgo.EndpointUserGuild("@me", guildID), urgent: true,
	}, nil, nil, guildID)
}

func (r *rest) GatewayStart(ctx context.Context) (GatewayStart, error) {
	var w struct {
		URL    string `json:"url"`
		Shards int    `json:"shards"`
		Limit  struct {
			Total          int `json:"total"`
			Remaining      int `json:"remaining"`
			ResetAfter     int `json:"reset_after"`
			MaxConcurrency int `json:"max_concurrency"`
		} `json:"session_start_limit"`
	}
	err := r.do(ctx, call{op: "look up the Gateway", method: http.MethodGet, route: "/gateway/bot", url: discordgo.EndpointGatewayBot}, nil, &w)
	return GatewayStart{
		URL: w.URL, Shards: w.Shards, Total: w.Limit.Total, Remaining: w.Limit.Remaining,
		ResetAfter: time.Duration(w.Limit.ResetAfter) * time.Millisecond, MaxConcurrency: w.Limit.MaxConcurrency,
	}, err
}
