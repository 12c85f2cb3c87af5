import { SERVER_KINDS } from "../domain/server-kinds.ts";

/** What a repository says in the words of tools and of this project, hoping that someone listens: names of files, and what is in them. */
type RepositorySettings = Readonly<Record<string, string>>;

/** What a stranger would like to be in force. */
interface Wish {
  /** A file that is written by all that is executed. */
  readonly marker: string;
  /** An address that is called by all that calls one. */
  readonly url: string;
}

/** Folders in which tools look for their settings. */
const FOLDERS = [
  "",
  ".stackwright/",
  ".config/stackwright/",
  ".terraform.d/",
  ".github/",
  ".gitea/",
  ".forgejo/",
] as const;

/** Names of files, by the form of what is in them. */
const NAMES = {
  json: [
    "stackwright.json",
    "server.json",
    "project.json",
    "settings.json",
    "hooks.json",
    "policy-sets.json",
    "pools.json",
    "roles.json",
    "connection.json",
    "credentials.tfrc.json",
    "data.json",
  ],
  yaml: [
    "stackwright.yaml",
    "stackwright.yml",
    "workflows/apply.yaml",
    "atlantis.yaml",
    ".gitlab-ci.yml",
    "config.yml",
  ],
  hcl: [".terraformrc", "terraform.rc", "stackwright.hcl", "sentinel.hcl", ".tflint.hcl"],
  environment: [".env", ".envrc", "stackwright.env"],
  script: [
    "hooks/before_plan",
    "hooks/after_plan.sh",
    "hooks/pre-commit",
    "hooks/post-checkout",
    "before_plan.sh",
    "Makefile",
  ],
  policy: ["policies/stackwright.rego", "policy.rego", "main.rego"],
  git: [".gitattributes", ".gitmodules", "CODEOWNERS", ".lfsconfig"],
} as const;

/** The settings of a server as a client of its API would write them, by the names of their kinds and by those of routes. */
function wishes({ marker, url }: Wish): object {
  const hook = { name: "theirs", stage: "before_plan", script: `touch ${marker}` };
  const settings = {
    hooks: [hook],
    pools: [{ pool: "theirs" }],
    pool: "theirs",
    required_approvals: 0,
    auto_apply: "always",
    exclude_author: false,
    policy_sets: [{ name: "security", enforcement: "advisory", stacks: ["none"] }],
    policy_exceptions: ["security"],
    roles: [{ user: "mallory", role: "admin" }],
    apply: "on_comment",
    required_reviews: 0,
    allow_forks: true,
    variables: { word: "theirs" },
    tool: { name: "terraform", path: marker },
    provisioner_projects: ["default/web"],
    executor: "in-process",
    notifications: [{ kind: "webhook", url }],
  };
  const kinds = Object.values(SERVER_KINDS).map(({ type }) => [type.kind, settings] as const);
  return { ...settings, ...Object.fromEntries(kinds), projects: { web: settings } };
}

/** Files of every form, in every folder that a tool might read, that ask for what is up to the server. */
export function repositorySettings(wish: Wish): RepositorySettings {
  const { marker, url } = wish;
  const json = JSON.stringify(wishes(wish));
  const contents: Readonly<Record<keyof typeof NAMES, string>> = {
    json,
    // Every JSON document is one of YAML.
    yaml: json,
    hcl: `provider_installation {
  dev_overrides { "hashicorp/null" = "${marker}" }
}
host "registry.terraform.io" { services = { "providers.v1" = "${url}/" } }
credentials "app.terraform.io" { token = "theirs" }
policy "security" { enforcement_level = "advisory" }
plugin "theirs" { enabled = true }
`,
    environment: `STACKWRIGHT_STORE=sqlite:${marker}
STACKWRIGHT_SERVER=${url}
TF_CLI_CONFIG_FILE=.terraformrc
TF_CLI_ARGS_plan=-var=word=theirs
TF_VAR_word=theirs
$(touch ${marker})
`,
    script: `#!/bin/sh\ntouch ${marker}\n`,
    policy: 'package stackwright\n\ndeny contains "never" if false\n',
    git: `* filter=theirs diff=theirs
[submodule "theirs"]
\tpath = theirs
\turl = ${url}
[lfs]
\turl = ${url}
`,
  };
  const files: Record<string, string> = {};
  for (const [form, names] of Object.entries(NAMES)) {
    for (const folder of FOLDERS) {
      for (const name of names) files[folder + name] = contents[form as keyof typeof NAMES];
    }
  }
  return files;
}

/** Blocks of a configuration that name a server, a state or programs of their own. */
export function hostileBlocks({ marker, url }: Wish): Readonly<Record<string, string>> {
  const { hostname, port } = new URL(url);
  const terraform = (block: string): string => `terraform {\n  ${block}\n}\n`;
  return {
    cloud: terraform(
      `cloud {
    hostname     = "${hostname}:${port}"
    organization = "theirs"
    token        = "theirs"
    workspaces { name = "two" }
  }`,
    ),
    http: terraform(`backend "http" { address = "${url}/state" }`),
    local: terraform(`backend "local" { path = "${marker}" }`),
    remote: terraform(`backend "remote" {
    hostname     = "${hostname}:${port}"
    organization = "theirs"
    workspaces { name = "two" }
  }`),
    meta: terraform(`provider_meta "null" { hooks = "touch ${marker}" }`),
  };
}
