/** How an option of the reference command is written: alone, as `=false`, or with a value. */
type OptionForm = "flag" | "negated" | "value";

/** What this command does with an option of the reference command. */
export type ReferenceOption =
  /** Means the same here. */
  | { readonly kind: "same" }
  /** Accepted without effect, because this command does it in any case. */
  | { readonly kind: "mapped"; readonly form: OptionForm; readonly to: string }
  /** Accepted without effect; the user is notified. */
  | { readonly kind: "ignored"; readonly form: OptionForm; readonly because: string }
  /** An error that names what to use instead. */
  | { readonly kind: "refused"; readonly form: OptionForm; readonly instead: string };

type Options = Readonly<Record<string, ReferenceOption>>;

const mapped = (form: OptionForm, to: string): ReferenceOption => ({ kind: "mapped", form, to });
const ignored = (form: OptionForm, because: string): ReferenceOption => ({
  kind: "ignored",
  form,
  because,
});
const refused = (form: OptionForm, instead: string): ReferenceOption => ({
  kind: "refused",
  form,
  instead,
});
const same = (...names: readonly string[]): Options =>
  Object.fromEntries(names.map((name) => [name, { kind: "same" }]));

const REVISIONS = "The store keeps the revisions of the state.";
const STATE_FILE =
  'Adopt a state file with "stackwright adopt FILE"; --stack NAME selects a stack of the store.';
const EARLY = "Set the variable by TF_VAR_NAME, or in terraform.tfvars or a file *.auto.tfvars.";
const NO_TESTS = "This command does not read test files.";

const LOCK: Options = {
  lock: ignored("negated", "The store locks a stack during every write."),
  ...same("lock-timeout"),
};
const NO_LOCK: Options = {
  lock: ignored("negated", "This command acquires no lock."),
  "lock-timeout": ignored("value", "This command acquires no lock."),
};
const STATE: Options = {
  state: refused("value", STATE_FILE),
  "state-out": refused("value", STATE_FILE),
  backup: ignored("value", REVISIONS),
};
const REMOTE: Options = {
  "ignore-remote-version": ignored("flag", "The store is not tied to a version."),
};
const TESTS: Options = { "test-directory": ignored("value", NO_TESTS) };
const INPUTS = same("var", "var-file", "input");
/** Options that OpenTofu has with nearly all commands. */
const JSON_INTO: Options = {
  "json-into": refused("value", "Use --json, and redirect standard output."),
};
const NO_JSON: Options = {
  json: refused("flag", "This command has no output as JSON."),
  "json-into": refused("value", "This command has no output as JSON."),
};
/** Values that no part of the configuration needs for the command. */
const NO_VALUES: Options = {
  var: ignored("value", "The command needs no values of variables."),
  "var-file": ignored("value", "The command needs no values of variables."),
};
/** Values that sources of modules may need. */
const EARLY_VALUES: Options = {
  var: refused("value", EARLY),
  "var-file": refused("value", EARLY),
};
const WARNINGS: Options = {
  "consolidate-warnings": ignored("negated", "Equal warnings are not consolidated."),
  "consolidate-errors": ignored("flag", "Equal errors are not consolidated."),
};
const COMPACT: Options = {
  "compact-warnings": ignored("flag", "Warnings of this command are shown in full."),
};
/** Options of plans that OpenTofu has in addition. */
const TOFU_PLAN: Options = {
  ...same("exclude", "target-file", "exclude-file"),
  concise: ignored("flag", "The command prints no progress lines for unchanged objects."),
  ...WARNINGS,
  deprecation: ignored("value", "Deprecations of all modules are shown."),
  "show-sensitive": refused(
    "flag",
    'Save the plan and use "stackwright show --show-secrets FILE".',
  ),
  ...JSON_INTO,
};
const PLAN: Options = {
  ...same("destroy", "refresh-only", "refresh", "replace", "target", "parallelism"),
  ...same("compact-warnings", "json", "no-color"),
  ...INPUTS,
  ...LOCK,
  ...STATE,
  ...TOFU_PLAN,
};
const { destroy: _destroy, ...PLAN_OF_DESTROY } = PLAN;
const FORGET: Options = {
  "suppress-forget-errors": ignored("flag", "Forgotten objects are not errors."),
};
const EDIT: Options = { ...LOCK, ...STATE, ...REMOTE, ...NO_JSON, ...NO_VALUES };

/**
 * All options of the reference commands (Terraform 1.11.4, OpenTofu 1.12), by the words of their command. Options that are
 * not "same" are declared from this table, hidden from the help.
 */
export const REFERENCE_OPTIONS: Readonly<Record<string, Options>> = {
  init: {
    ...same(
      "from-module",
      "get",
      "json",
      "lockfile",
      "no-color",
      "plugin-dir",
      "test-directory",
      "upgrade",
    ),
    backend: mapped("negated", "No backend is contacted by init."),
    cloud: mapped("negated", "No backend is contacted by init."),
    input: mapped("negated", "This command asks no questions."),
    "backend-config": ignored(
      "value",
      'The state is in the store. Pass these arguments to "stackwright adopt --backend-config".',
    ),
    reconfigure: ignored("flag", "The state is in the store, not in a backend."),
    "migrate-state": ignored("flag", "The state is in the store, not in a backend."),
    "force-copy": ignored("flag", "The state is in the store, not in a backend."),
    ...NO_LOCK,
    ...REMOTE,
    ...EARLY_VALUES,
    ...WARNINGS,
    ...COMPACT,
    ...JSON_INTO,
  },
  validate: {
    ...EARLY_VALUES,
    ...WARNINGS,
    ...COMPACT,
    ...JSON_INTO,
    ...same("json", "no-color", "no-tests", "test-directory"),
    query: refused("flag", "Query files (*.tfquery.hcl) are not supported."),
  },
  plan: {
    ...PLAN,
    ...same("out", "detailed-exitcode", "generate-config-out"),
  },
  apply: { ...PLAN, ...same("auto-approve"), ...FORGET },
  destroy: {
    ...PLAN_OF_DESTROY,
    ...same("auto-approve"),
    ...FORGET,
  },
  refresh: {
    ...same("target", "parallelism", "compact-warnings", "json", "no-color"),
    ...INPUTS,
    ...LOCK,
    ...STATE,
    ...same("exclude"),
    concise: ignored("flag", "The command prints no progress lines for unchanged objects."),
    ...WARNINGS,
    ...JSON_INTO,
  },
  show: {
    ...NO_VALUES,
    ...JSON_INTO,
    ...same("json", "no-color"),
    "show-sensitive": refused("flag", "Use --show-secrets."),
    state: refused("flag", 'Use "stackwright show".'),
    plan: refused("value", 'Use "stackwright show FILE".'),
    config: refused("flag", 'Use "stackwright show --json FILE", which has the configuration.'),
    module: refused("value", 'Use "stackwright graph --all" in the directory of the module.'),
  },
  output: {
    ...NO_VALUES,
    ...JSON_INTO,
    ...same("json", "raw", "no-color", "state"),
    "show-sensitive": refused("flag", "Use --json, or name the output."),
  },
  console: {
    ...same("plan", "var", "var-file", "no-color"),
    state: refused("value", STATE_FILE),
    "state-out": refused("value", STATE_FILE),
    backup: ignored("value", REVISIONS),
    lock: ignored("negated", "This command acquires no lock."),
    ...same("lock-timeout"),
    ...WARNINGS,
    ...COMPACT,
    ...JSON_INTO,
  },
  fmt: same("list", "write", "diff", "check", "recursive", "no-color"),
  get: {
    ...same("update", "no-color", "test-directory"),
    json: refused("flag", 'Use "stackwright init --json".'),
    ...EARLY_VALUES,
    ...JSON_INTO,
  },
  graph: {
    ...EARLY_VALUES,
    ...same("type", "no-color"),
    plan: refused("value", 'Use "stackwright show FILE".'),
    "draw-cycles": ignored("flag", "A cycle is an error that names its members."),
    "module-depth": ignored("value", "The graph shows all modules."),
  },
  import: {
    ...same("no-color", "json", "compact-warnings"),
    ...WARNINGS,
    ...JSON_INTO,
    ...INPUTS,
    ...LOCK,
    ...STATE,
    ...REMOTE,
    config: refused("value", "Name the directory of the configuration with --chdir."),
    "allow-missing-config": refused(
      "flag",
      "Write the resource block first; an import plans against it.",
    ),
  },
  login: {},
  logout: {},
  metadata: {},
  "metadata functions": same("json"),
  modules: same("json"),
  providers: { ...TESTS, ...EARLY_VALUES },
  "providers lock": {
    ...NO_JSON,
    ...EARLY_VALUES,
    ...same("fs-mirror", "net-mirror", "platform"),
    "enable-plugin-cache": ignored("flag", "Packages are fetched to compute their hashes."),
  },
  "providers mirror": { ...same("platform", "lock-file"), ...NO_JSON, ...EARLY_VALUES },
  "providers schema": { ...same("json"), ...EARLY_VALUES },
  state: {},
  "state list": {
    ...same("id"),
    state: refused("value", STATE_FILE),
    ...NO_VALUES,
    json: refused("flag", 'Use "stackwright show --json".'),
    ...JSON_INTO,
  },
  "state show": {
    ...NO_VALUES,
    json: refused("flag", 'Use "stackwright show --json".'),
    ...JSON_INTO,
    state: refused("value", STATE_FILE),
    "show-sensitive": refused("flag", "Use --show-secrets."),
  },
  "state mv": {
    ...same("dry-run"),
    ...EDIT,
    "backup-out": ignored("value", REVISIONS),
  },
  "state rm": { ...same("dry-run"), ...EDIT },
  "state pull": NO_VALUES,
  "state push": { ...same("force"), ...LOCK, ...REMOTE, ...NO_VALUES, ...NO_JSON },
  "state replace-provider": { ...same("auto-approve"), ...EDIT },
  taint: { ...same("allow-missing"), ...EDIT },
  untaint: { ...same("allow-missing"), ...EDIT },
  "force-unlock": {
    force: mapped("flag", "The lock of a live run is never released."),
    ...NO_VALUES,
    ...NO_JSON,
  },
  test: {
    ...same("filter", "json", "junit-xml", "parallelism", "test-directory", "verbose", "no-color"),
    ...same("var", "var-file"),
    ...WARNINGS,
    ...COMPACT,
    ...JSON_INTO,
    "cloud-run": refused("value", "Run the tests here; they need no server."),
  },
  version: same("json"),
  workspace: {},
  "workspace list": { ...NO_VALUES, ...NO_JSON },
  "workspace show": {},
  "workspace new": {
    ...NO_VALUES,
    ...NO_JSON,
    ...LOCK,
    state: refused("value", 'Adopt the file: "stackwright adopt FILE --stack NAME".'),
  },
  "workspace select": { ...same("or-create"), ...NO_VALUES, ...NO_JSON },
  "workspace delete": { ...same("force"), ...LOCK, ...NO_VALUES, ...NO_JSON },
};

/** Commands of the reference command that this one does not have, with what to use instead. */
export const REFUSED_COMMANDS: Readonly<Record<string, string>> = {
  query: "Queries (*.tfquery.hcl) are not supported.",
  rpcapi: "The RPC interface of the reference command is not supported.",
};
