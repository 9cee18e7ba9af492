package discordtest

import "net/http"

// pageRoutes puts the live page on the root.
func (s *Server) pageRoutes(mux *http.ServeMux) {}
