# The tasks of this project. `make help` lists them.

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build ./bin/agentos, static
	CGO_ENABLED=0 go build -trimpath -o bin/agentos ./cmd/agentos

.PHONY: test
test: ## run all tests with the race detector
	go test -race ./... -timeout 30m

.PHONY: vet
vet: ## go vet
	go vet ./...

.PHONY: lint
lint: vet ## go vet, gofmt and staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); test -z "$$unformatted" || { echo "gofmt -w:" $$unformatted; exit 1; }
	go tool staticcheck ./...

.PHONY: arch
arch: ## check the rules of the house and list what is large
	go test -count=1 ./test/arch
	go test -count=1 -v -run '^TestHabits$$' ./test/arch

.PHONY: fuzz
fuzz: ## fuzz every decoder for FUZZTIME (10s) each
	@grep -rlE '^func Fuzz' --include='*_test.go' . | sort | while read -r file; do \
		sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$$file" | while read -r name; do \
			go test "$$(dirname "$$file")" -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x || exit 1; \
		done || exit 1; \
	done
FUZZTIME ?= 10s

.PHONY: bench
bench: ## measure the runtime (BENCH=--quick ...), then the parts: benchmarks of packages
	go run ./cmd/agentos bench $(BENCH)
	go test -run '^$$' -bench . -benchmem $$(go list ./... | grep -v /test/bench)

.PHONY: e2e
e2e: ## run the tests of the whole runtime
	go test -race -count=1 -timeout 30m ./test/...

.PHONY: peers
peers: ## install the agents of others and run the tests against them
	test/peers/install
	AGENTOS_PEERS=1 go test -race -count=1 -timeout 10m ./test/peers/...

.PHONY: bench-peers
bench-peers: ## install AgentOS and sandbox-agent (1.3 GB) and measure the runtime beside them
	test/bench/peers/run

.PHONY: rewrite
rewrite: ## rewrite the expected output of script files; review it as a diff
	REWRITE=1 go test $$(go list -f '{{.Dir}} {{join .TestImports " "}} {{join .XTestImports " "}}' ./... | awk '/ agentos\/test\/script( |$$)/{print $$1}') ./test/script ./cmd/agentos/...

.PHONY: ci
ci: ## everything CI runs
	.ci/run

.PHONY: clean
clean: ## remove what was built
	rm -rf bin .cache
