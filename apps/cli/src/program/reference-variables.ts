/** What this command does with a variable of the reference command's environment. */
type ReferenceVariable =
  | { readonly kind: "obeyed"; readonly meaning: string }
  /** Without effect; the user is notified. */
  | { readonly kind: "ignored"; readonly because: string };

const obeyed = (meaning: string): ReferenceVariable => ({ kind: "obeyed", meaning });
const ignored = (because: string): ReferenceVariable => ({ kind: "ignored", because });

const CLOUD = "Runs of HCP Terraform are not supported; adopt reads the state of its workspaces.";

/** All variables of the reference command. A name that ends with `_` stands for all that begin with it. */
export const REFERENCE_VARIABLES: Readonly<Record<string, ReferenceVariable>> = {
  TF_CLI_ARGS: obeyed("arguments behind the command"),
  TF_CLI_ARGS_: obeyed("arguments behind one command"),
  TF_CLI_CONFIG_FILE: obeyed("the CLI configuration file"),
  TERRAFORM_CONFIG: obeyed("the same, by its old name"),
  TF_DATA_DIR: obeyed("the directory of modules and of the selected workspace"),
  TF_IN_AUTOMATION: obeyed("no hints about next commands"),
  TF_INPUT: obeyed("`0` or `false`: no questions"),
  TF_LOG: obeyed("the level of logs; `JSON`: all of them as lines of JSON"),
  TF_LOG_CORE: obeyed("the level of the log of the command"),
  TF_LOG_PATH: obeyed("a file to which logs are appended"),
  TF_LOG_PROVIDER: obeyed("the level of the logs of providers"),
  TF_PLUGIN_CACHE_DIR: obeyed("a cache of provider packages"),
  TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE: obeyed("uses a cached package without its hash"),
  TF_REATTACH_PROVIDERS: obeyed("providers that other programs have started"),
  TF_REGISTRY_CLIENT_TIMEOUT: obeyed("seconds until a registry has to answer"),
  TF_REGISTRY_DISCOVERY_RETRY: obeyed("number of further attempts at a registry"),
  TF_TOKEN_: obeyed("the token of a host"),
  TF_VAR_: obeyed("the value of a variable"),
  TF_WORKSPACE: obeyed("the selected workspace"),
  TF_ENCRYPTION: obeyed("how OpenTofu encrypts the state that is adopted and written back"),
  TF_HTTP_: obeyed("arguments of an `http` backend that is adopted"),
  CHECKPOINT_DISABLE: obeyed("no version check is made in any case"),
  TF_APPEND_USER_AGENT: ignored("Requests have one user agent."),
  TF_CLOUD_HOSTNAME: ignored(CLOUD),
  TF_CLOUD_ORGANIZATION: ignored(CLOUD),
  TF_CLOUD_PROJECT: ignored(CLOUD),
  TF_DISABLE_PLUGIN_TLS: ignored("Connections to providers are encrypted."),
  TF_FORCE_LOCAL_BACKEND: ignored("The state is in the store."),
  TF_IGNORE: ignored("The command uploads no directory, so .terraformignore excludes nothing."),
  TF_LOG_CLOUD: ignored(CLOUD),
  TF_PROVIDER_DOWNLOAD_RETRY: ignored("Use TF_REGISTRY_DISCOVERY_RETRY."),
  TF_STATE_PERSIST_INTERVAL: ignored("Every step is saved at once."),
};

/** One line for each set variable that has no effect. */
export function variableNotes(env: NodeJS.ProcessEnv): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    if (value === undefined || value === "") return [];
    const known = REFERENCE_VARIABLES[name] ?? REFERENCE_VARIABLES[prefixOf(name)];
    if (known?.kind !== "ignored") return [];
    return [`Note: the variable ${name} has no effect. ${known.because}`];
  });
}

function prefixOf(name: string): string {
  return (
    Object.keys(REFERENCE_VARIABLES).find((one) => one.endsWith("_") && name.startsWith(one)) ?? ""
  );
}
