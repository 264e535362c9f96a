# Two commands for a newcomer: `make run` and `make test`. Each sets up all it needs in .venv.
VENV := .venv
BIN := $(VENV)/bin
TORCH_PYTHON ?=
ARGS ?=
SET_UP = packaging/set_up.py packaging/constraints.txt pyproject.toml
WORDS := resources/locale/zh_CN/LC_MESSAGES/gputuner
STAMP := $(VENV)/.stamps
TORCH_STAMP := $(if $(TORCH_PYTHON),,$(STAMP)/torch)
PYTHON_OPTION := $(if $(TORCH_PYTHON),--python $(TORCH_PYTHON),)

.PHONY: run gui test setup lint fmt screenshots words clean

run: $(STAMP)/app $(TORCH_STAMP) $(WORDS).mo
	@$(BIN)/gputuner --cli tune --quick $(PYTHON_OPTION) $(ARGS)

gui: $(STAMP)/app $(TORCH_STAMP) $(STAMP)/qt $(WORDS).mo
	@$(BIN)/gputuner $(PYTHON_OPTION) $(ARGS)

setup: $(STAMP)/app $(STAMP)/checks $(TORCH_STAMP) $(STAMP)/qt $(WORDS).mo

test: setup lint
	@$(BIN)/python packaging/run_tests.py

lint: $(STAMP)/checks
	@$(BIN)/ruff check gputuner tests packaging
	@$(BIN)/ruff format --check gputuner tests packaging
	@$(BIN)/basedpyright
	@$(BIN)/lint-imports

fmt: $(STAMP)/checks
	@$(BIN)/ruff check --fix gputuner tests packaging
	@$(BIN)/ruff format gputuner tests packaging

screenshots: $(STAMP)/app $(STAMP)/qt $(WORDS).mo
	@$(BIN)/gputuner --screenshots screenshots --simulate rtx-4090-48g $(ARGS)

words: $(WORDS).mo

$(WORDS).mo: $(WORDS).po packaging/compile_words.py $(STAMP)/app
	@$(BIN)/python packaging/compile_words.py

$(STAMP)/%: $(SET_UP)
	@python=$$(sh packaging/find-python.sh) && "$$python" packaging/set_up.py $*

clean:
	rm -rf $(VENV) screenshots build dist $(WORDS).mo
