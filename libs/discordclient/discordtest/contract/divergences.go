package contract

// Divergence is a place where Discord's description is wrong or silent about what Discord does.
type Divergence struct {
	// Name for the closing note and the docs.
	Name string
	// Reason says what Discord does, and how that is known.
	Reason string
	// is says whether all findings about one message come from it.
	is func(found []Violation, body []byte) bool
}

// Divergences are all that are known. A message with findings of which one divergence explains all passes.
var Divergences = []Divergence{}

// diverges says whether one of the known divergences explains the findings.
func diverges(found []Violation, body []byte) bool {
	for _, d := range Divergences {
		if d.is(found, body) {
			return true
		}
	}
	return false
}
