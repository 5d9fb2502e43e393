# The commands of this project. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help run dashboard screenshots test lint bench suite models release

# `make suite kill9`: the word after `suite` is the suite's name, not a goal.
ifeq (suite,$(firstword $(MAKECMDGOALS)))
SUITE := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
ifneq (,$(SUITE))
.PHONY: $(SUITE)
$(SUITE):
	@:
endif
endif

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-11s %s\n", $$1, $$2 }'

run: ## build the gateway, with the dashboard if Node.js is there, and start it
	@scripts/dashboard.sh build --if-possible
	cargo build --profile quick
	./target/quick/gatehouse

# Also the name of a suite.
ifneq (suite,$(firstword $(MAKECMDGOALS)))
dashboard: ## build the dashboard, which the next build of the gateway embeds
	@scripts/dashboard.sh build
endif

screenshots: ## every page of the dashboard in light, dark and at 390 px, in .cache/screenshots
	@scripts/dashboard.sh build
	cargo build --locked --workspace --bins
	cargo build --locked --workspace --features store/generate --example fill
	@scripts/dashboard.sh screenshots

test: ## everything that must hold, each long suite in its bounded form
	@scripts/test.sh

lint: ## formatting, clippy, rules for dependencies, syntax of the scripts
	@scripts/lint.sh

bench: ## figures beside nginx and a bare proxy, as a table and .cache/bench.json
	@scripts/bench.sh $(ARGS)

models: ## fetch the packages with the local models and import them
	@scripts/models.sh

release: ## the shipped binary, deploy files, bills of materials and checksums, in target/release-VERSION
	@scripts/release.sh

suite: ## one suite in full, e.g. `make suite kill9 ARGS="--kills 200"`; alone: the list
	@scripts/suite.sh $(SUITE) $(ARGS)
