//go:build tools

// Package tools names the programs that the local cluster builds, so that go.mod and go.sum pin them.
package tools

import _ "sigs.k8s.io/kube-network-policies/cmd/kube-network-policies/standard"
