// SPDX-License-Identifier: Apache-2.0

package discordclient_test

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

func TestNormaliseChannelName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"tokyo-alerts": "tokyo-alerts", "Tokyo Alerts": "tokyo-alerts", "  a   b  ": "a-b", "a - ~ b": "a-b", "--a--b--": "a-b-",
		"a!b?c": "abc", "a ! b": "a-b", "under_score": "under_score", "🔥 Fire": "🔥-fire", "ÄÖÜ": "äöü", "東京": "東京", "a\tb\nc": "a-b-c",
		"!!!": "", "": "", "#general": "general", "50%": "50", "a~b": "a-b", "Ünï-Cödé 2": "ünï-cödé-2",
	} {
		if got := discordclient.NormaliseChannelName(discordgo.ChannelTypeGuildText, in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	for _, kind := range []discordgo.ChannelType{discordgo.ChannelTypeGuildCategory, discordgo.ChannelTypeGuildVoice, discordgo.ChannelTypeGuildStageVoice} {
		if got := discordclient.NormaliseChannelName(kind, " Tokyo: Alerts! "); got != "Tokyo: Alerts!" {
			t.Errorf("a channel of type %d is called %q", kind, got)
		}
	}
}

func TestSameChannelName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want, live, answered string
		same                 bool
	}{
		"equal":                              {"tokyo", "tokyo", "", true},
		"as Discord rewrites it":             {"Tokyo Alerts", "tokyo-alerts", "", true},
		"as an old guild keeps it":           {"Tokyo", "Tokyo", "", true},
		"as Discord answered":                {"a$b", "a_b", "a_b", true},
		"another name":                       {"tokyo", "kyoto", "", false},
		"another name than Discord answered": {"a$b", "kyoto", "a_b", false},
	} {
		if got := discordclient.SameChannelName(discordgo.ChannelTypeGuildText, c.want, c.live, c.answered); got != c.same {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func FuzzNormaliseChannelName(f *testing.F) {
	for _, seed := range []string{"Tokyo Alerts", "--a--", "🔥 ~ x", "\xff\x00", "İ", "a!-!b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := discordclient.NormaliseChannelName(discordgo.ChannelTypeGuildText, name)
		if again := discordclient.NormaliseChannelName(discordgo.ChannelTypeGuildText, got); utf8.ValidString(name) && again != got {
			t.Errorf("%q becomes %q and then %q", name, got, again)
		}
		if strings.HasPrefix(got, "-") || strings.Contains(got, "--") || strings.ContainsAny(got, " \t\n!#$%~") {
			t.Errorf("%q becomes %q", name, got)
		}
		if want := discordtest.NormaliseName(name); utf8.ValidString(name) && got != want {
			t.Errorf("%q becomes %q here and %q in the simulator, which was written independently", name, got, want)
		}
	})
}

func TestInviteURL(t *testing.T) {
	t.Parallel()
	if discordclient.PermissionsCore != 536871952 || discordclient.PermissionsGuild != 536872112 || discordclient.PermissionsOverwrites != 805307568 {
		t.Error("the permissions are not those of the documentation")
	}
	got := discordclient.InviteURL("https://discord.com", "42", discordclient.PermissionsGuild|permissions.SendMessages, "7")
	u, err := url.Parse(got)
	if err != nil {
		t.Fatal(err)
	}
	want := url.Values{"client_id": {"42"}, "scope": {"bot"}, "permissions": {"536874160"}, "guild_id": {"7"}, "disable_guild_select": {"true"}}
	if u.Scheme+"://"+u.Host+u.Path != "https://discord.com/oauth2/authorize" || u.RawQuery != want.Encode() {
		t.Errorf("got %s, want the query %s", got, want.Encode())
	}
	changed, err := discordclient.ChangeInvite(got, func(asked permissions.Bits) permissions.Bits { return asked | permissions.Speak })
	want.Set("permissions", "538971312")
	if err != nil || changed != "https://discord.com/oauth2/authorize?"+want.Encode() {
		t.Errorf("got %s, %v, want the query %s", changed, err, want.Encode())
	}
	if got, err := discordclient.ChangeInvite("https://discord.com:x", func(asked permissions.Bits) permissions.Bits { return asked }); err == nil {
		t.Errorf("got %s of a text that is no URL", got)
	}
	if got := discordclient.InviteURL("https://discord.com", "42", 8, ""); got != "https://discord.com/oauth2/authorize?client_id=42&permissions=8&scope=bot" {
		t.Errorf("got %s", got)
	}
}
