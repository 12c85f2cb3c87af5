/** A group of operations in the document, by what they are about. */
interface OperationTag {
  readonly name: string;
  readonly description: string;
  /** Of the path below `/api/v1/`, without its parameters. The first that matches counts. */
  readonly paths: RegExp;
}

const TAGS: readonly OperationTag[] = [
  {
    name: "runs",
    description: "Plans and applies of a stack: requests, plans, approvals, events",
    paths: /^projects\/stacks\/(?:runs|comparisons)\b/,
  },
  {
    name: "plan sets",
    description: "Plans of several stacks that are approved together",
    paths: /^projects\/plan-sets\b/,
  },
  {
    name: "configurations",
    description: "Templates of a stack, uploaded as archives",
    paths: /^projects\/stacks\/configurations\b/,
  },
  {
    name: "variables",
    description: "Variables of stacks, and sets of them that stacks share",
    paths:
      /^(?:variable-sets|projects\/(?:stacks\/)?(?:effective-variables|variable-sets|variables))\b/,
  },
  {
    name: "states",
    description:
      "What a stack has: resources, outputs, revisions, and states that other tools keep",
    paths: /^projects\/stacks\/(?:state|revisions)\b/,
  },
  {
    name: "drift",
    description: "Differences between the state and the real objects, and checks for them",
    paths: /^(?:drift|projects\/drift-hooks|projects\/stacks\/drift)\b/,
  },
  {
    name: "schedules and triggers",
    description: "Runs at set times, and after runs of other stacks",
    paths: /^projects\/stacks\/(?:schedules|triggers)\b/,
  },
  {
    name: "hooks",
    description: "Programs and addresses that are called before and after plans and applies",
    paths: /^projects\/(?:stacks\/)?hooks\b/,
  },
  {
    name: "notifications",
    description: "Destinations of the events of a project",
    paths: /^projects\/notifications\b/,
  },
  {
    name: "version control",
    description: "Git repositories, and the plans of their pull requests",
    paths: /^projects\/vcs-connections\b/,
  },
  {
    name: "workload identity",
    description: "Identities by which runs reach clouds without stored credentials",
    paths: /^(?:identity|projects\/stacks\/identity)\b/,
  },
  {
    name: "access",
    description: "Accounts, users, teams, roles, sessions and tokens",
    paths:
      /^(?:accounts|users|teams|roles|tokens|sessions|caller|projects\/roles|registry\/(?:access-keys|tokens|credentials))\b/,
  },
  {
    name: "stacks",
    description: "Stacks with their locks, freezes, tools and reactions",
    paths: /^projects\/stacks\b/,
  },
  { name: "projects", description: "Projects with their settings", paths: /^projects\b/ },
  {
    name: "policies",
    description: "Policy sets, which judge plans",
    paths: /^policy-sets\b/,
  },
  {
    name: "modules",
    description: "Private modules",
    paths: /^registry\/modules\b/,
  },
  {
    name: "upstream providers",
    description: "What the server keeps of public providers: packages, schemas, quarantine",
    paths: /^registry\/(?:quarantine|upstream-packages|provider-schemas)\b/,
  },
  {
    name: "audit",
    description: "The audit trail, and the destinations that it is sent to",
    paths: /^(?:registry\/)?audit\b/,
  },
  {
    name: "providers",
    description: "Providers that users publish: namespaces, versions, functions and their uses",
    paths: /^(?:registry|private-providers)\b/,
  },
  {
    name: "live view",
    description: "What changes, as it changes, and searches over all stacks",
    paths: /^(?:watch|search|where-used|debug)\b/,
  },
  {
    name: "operations",
    description: "How the server is",
    paths: /^doctor\b/,
  },
  {
    name: "workers",
    description: "What workers ask of the server; other callers need none of it",
    paths: /^worker\b/,
  },
];

const FACES: Readonly<Record<string, string>> = {
  "private providers": "Private providers by the API of RFS",
  terraform: "The registry and mirror of providers, as Terraform asks them",
};

const PREFIX = "/api/v1/";

/** The tag of a path of our own API; undefined for paths of other APIs, and for those that no tag has. */
export function tagOfPath(path: string): string | undefined {
  if (!path.startsWith(PREFIX)) return undefined;
  const fixed = path.slice(PREFIX.length).replaceAll(/\/(?:\{[^}]*\}|:[^/]*)/g, "");
  return TAGS.find(({ paths }) => paths.test(fixed))?.name;
}

/** Names and descriptions of all tags, in the order in which they are shown. */
export const TAG_DESCRIPTIONS: readonly { readonly name: string; readonly description: string }[] =
  [
    ...TAGS.map(({ name, description }) => ({ name, description })),
    ...Object.entries(FACES).map(([name, description]) => ({ name, description })),
  ];
