# The front doors: `make experiment` and `make test`. Both set up what they need first. Variables go after the target:
#   make experiment STUDY="wireless satellite" REPS=3
# STUDY is the name of one file, whatever is in it, or else names with spaces between them.
# A target's exit status other than 0 is printed by make ("Error 3") and becomes make's own 2.

STUDY ?= wireless satellite wired
GROUNDTRUTH := .venv/bin/groundtruth
PYTEST := .venv/bin/python -m pytest --numprocesses=auto --dist=loadscope

# What the caller gave to this make is not for the makes that a run starts (a kernel's build has a KERNEL of its own).
MAKEOVERRIDES :=
unexport MAKEFLAGS MFLAGS STUDY REPS LAB KERNEL PATCH SIMULATOR JOBS RETRIES RUN SENSITIVITY SCALE AT INVENTORY CLUSTER ARTEFACTS CHECK
# The machines of LAB=remote.
export GROUNDTRUTH_INVENTORY := $(or $(INVENTORY),$(GROUNDTRUTH_INVENTORY))
# Where a campaign's cells run instead of here.
export GROUNDTRUTH_CLUSTER := $(or $(CLUSTER),$(GROUNDTRUTH_CLUSTER))
# What they come back through, if not the scheduler.
export GROUNDTRUTH_ARTEFACTS := $(or $(ARTEFACTS),$(GROUNDTRUTH_ARTEFACTS))

# quote TEXT: one shell word, whatever is in it.
quote = '$(subst ','\'',$(1))'
# option NAME,VALUE: "--NAME VALUE", or nothing when VALUE is empty.
option = $(if $(strip $(2)),--$(1) $(call quote,$(2)))
study_is_file = $(shell test -f $(call quote,$(STUDY)) && echo yes)
study_word = $(call quote,$(if $(filter %.yaml %.yml,$(1)),$(1),studies/$(1).yaml))
study_files = $(if $(study_is_file),$(call quote,$(STUDY)),$(foreach one,$(STUDY),$(call study_word,$(one))))
# PATCH is the name of one file, whatever is in it, or else names with spaces between them.
patch_is_file = $(if $(PATCH),$(shell test -f $(call quote,$(PATCH)) && echo yes))
patches = $(if $(patch_is_file),--patch $(call quote,$(PATCH)),$(foreach one,$(PATCH),--patch $(call quote,$(one))))
# KERNEL is a version, or a folder with a git tree of Linux and maybe @REVISION; a "~" it begins with is one's home.
kernel_options = $(call option,kernel,$(KERNEL)) $(patches)
run_options = $(call option,reps,$(REPS)) $(call option,lab,$(LAB)) $(kernel_options) \
	$(call option,jobs,$(JOBS)) $(call option,scale,$(SCALE)) $(if $(filter no,$(SENSITIVITY)),--no-sensitivity) \
	$(foreach one,$(AT),--at $(call quote,$(one)))
run_folder = $(call quote,$(or $(RUN),results/latest))

.PHONY: help
help: ## say what can be made (default)
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile
	@echo 'Variables: STUDY="names or files.yaml", REPS=number or auto, SENSITIVITY=no, LAB=virtual, KERNEL=6.12 or FOLDER@REVISION or 6.1,6.12,7.3, PATCH=FILE, SIMULATOR=ns2, JOBS=, RETRIES=, SCALE=0.1, AT=loss=1%, INVENTORY=, CLUSTER=tls://HOST:8786 or FILE, ARTEFACTS=s3://BUCKET/PREFIX, RUN=results/...'

.PHONY: experiment
experiment: setup ## run the dumbbell studies, or those named, and write one report: [STUDY= REPS= SENSITIVITY= LAB= KERNEL= PATCH= SIMULATOR= JOBS= RETRIES= SCALE= AT= CLUSTER= ARTEFACTS=]
	@$(GROUNDTRUTH) run $(study_files) $(run_options) $(call option,simulator,$(SIMULATOR)) $(call option,retries,$(RETRIES))

# What the README shows; a test fails when the studies are no longer those it was measured with.
.PHONY: showcase
showcase: setup-dev ## measure again what the README quotes, ten seeds of each study, and write it there
	@$(GROUNDTRUTH) run $(foreach one,wireless satellite wired anatomy,studies/$(one).yaml) --reps 10
	@.venv/bin/python -m docs.generate.readme results/latest

.PHONY: test
test: setup-dev lab browser crate-validator ## run every test, those in the virtual lab and in a browser too
	@$(PYTEST)

.PHONY: stored-cells
stored-cells: setup-dev lab ## run a cell of every study and store its numbers, which tests compare with; shows what changes
	@.venv/bin/python -m tests.support.runs.stored_cells

.PHONY: test-unit
test-unit: setup-dev crate-validator ## run the tests that need neither lab nor browser
	@$(PYTEST) -m 'not lab and not browser'

.PHONY: browser
browser: ## find a browser for the tests of the report, or fetch one into the cache
	@setup/browser >/dev/null

.PHONY: crate-validator
crate-validator: setup-dev ## put the validator of RO-Crates into the cache, for the tests of bundles
	@setup/crate_validator >/dev/null

.PHONY: lab
lab: setup ## build the virtual lab into the cache: [KERNEL= PATCH=]
	@$(GROUNDTRUTH) build $(call option,lab,$(LAB)) $(kernel_options)

.PHONY: plan
plan: setup ## show what studies would run and how long that takes: [STUDY= REPS= SENSITIVITY= LAB= KERNEL= PATCH= JOBS= SCALE= AT=]
	@$(GROUNDTRUTH) plan $(study_files) $(run_options)

.PHONY: validate
validate: setup ## check study files: [STUDY=]
	@$(GROUNDTRUTH) validate $(study_files)

.PHONY: verify
verify: setup ## run a finished run again and compare it to the byte: [RUN= JOBS=]
	@$(GROUNDTRUTH) verify $(run_folder) $(call option,jobs,$(JOBS))

.PHONY: parse
parse: setup ## make a run's tables again from its raw files: [RUN= JOBS=]
	@$(GROUNDTRUTH) parse $(run_folder) $(call option,jobs,$(JOBS))

.PHONY: report
report: setup ## write a finished run's report again: [RUN=]
	@$(GROUNDTRUTH) report $(run_folder)

.PHONY: bundle
bundle: setup ## pack a finished run into one file that others can check: [RUN=]
	@$(GROUNDTRUTH) bundle $(run_folder)

.PHONY: wireshark
wireshark: setup ## write a run's captures for Wireshark, with comments: [RUN=]
	@$(GROUNDTRUTH) wireshark $(run_folder)

.PHONY: doctor
doctor: setup ## say what this machine can and cannot run, and why: [LAB= KERNEL= PATCH=]
	@$(GROUNDTRUTH) doctor $(call option,lab,$(LAB)) $(kernel_options)

.PHONY: lint
lint: setup-dev ## check style, types, imports, C, shell, Ansible and spelling
	@setup/lint

.PHONY: format
format: setup-dev ## rewrite Python, C and shell files in the house style
	@setup/lint --fix

.PHONY: docs
docs: setup-dev ## build a site from the docs into build/site, for any web server; nothing in it needs the network
	@.venv/bin/python -m docs.generate.site

.PHONY: ansible-check
ansible-check: setup-dev ## check that every playbook can be read and lists its tasks
	@for playbook in ansible/playbooks/*.yml; do \
		ANSIBLE_HOME="$$PWD/.ansible" .venv/bin/ansible-playbook -i localhost, --list-tasks "$$playbook" || exit; \
	done

# play PLAYBOOK: for the machines of INVENTORY; with CHECK=yes it changes nothing and says what would be.
play = @$(if $(INVENTORY),,echo 'INVENTORY=FILE names the machines: docs/guides/campaigns.md' >&2; exit 2;) \
	ANSIBLE_HOME="$$PWD/.ansible" .venv/bin/ansible-playbook -i $(call quote,$(INVENTORY)) \
	$(if $(filter yes,$(CHECK)),--check) ansible/playbooks/$(1).yml

.PHONY: workers
workers: setup-dev ## make the machines of an inventory a cluster that runs cells: INVENTORY= [CHECK=yes]
	$(call play,workers)

.PHONY: workers-undo
workers-undo: setup-dev ## take that back, and nothing else: INVENTORY= [CHECK=yes]
	$(call play,workers_undo)

.PHONY: requirements
requirements: setup-dev ## pin requirements/*.in anew: newest versions, with hashes
	@.venv/bin/uv pip compile --quiet --upgrade requirements/run.in -o requirements/run.txt
	@.venv/bin/uv pip compile --quiet --upgrade -c requirements/run.txt requirements/s3.in -o requirements/s3.txt
	@.venv/bin/uv pip compile --quiet --upgrade -c requirements/run.txt -c requirements/s3.txt requirements/dev.in -o requirements/dev.txt
	@.venv/bin/uv pip compile --quiet --upgrade requirements/crate.in -o requirements/crate.txt

.PHONY: setup
setup: ## make .venv with what an experiment needs
	@setup/bootstrap run

.PHONY: setup-dev
setup-dev: ## make .venv with what the checks need as well
	@setup/bootstrap dev

.PHONY: clean
clean: ## remove what was made in this folder, results excepted
	rm -rf .venv .ansible .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist *.egg-info
	find . -path ./.git -prune -o -path ./results -prune -o -type d -name __pycache__ -exec rm -rf {} +

.PHONY: clean-host
clean-host: ## undo what a killed run with LAB=host left changed on this machine
	@$(GROUNDTRUTH) clean --lab host

.PHONY: clean-cache
clean-cache: ## remove the cached lab: kernels, image, probes; the next run makes them again
	rm -rf --one-file-system -- "$${XDG_CACHE_HOME:-$${HOME:?is not set: nor is XDG_CACHE_HOME}/.cache}/groundtruth"
