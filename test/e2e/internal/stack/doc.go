// Package stack installs what the end-to-end tests are about on any cluster: CloudNativePG and
// prometheus-operator as they are released, a Prometheus and an Alertmanager, a simulated Discord,
// and both operators of this project as they are deployed.
package stack
