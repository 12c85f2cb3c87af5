/** An argument of the language, with what it does. */
interface LanguageArgument {
  readonly description: string;
  readonly required?: true;
  /** Words that it can be. */
  readonly values?: readonly string[];
}

/** A block of the language: what stands in it, besides what a provider adds. */
export interface LanguageBlock {
  readonly description: string;
  /** What its labels are. */
  readonly labels?: readonly string[];
  readonly arguments?: Readonly<Record<string, LanguageArgument>>;
  readonly blocks?: Readonly<Record<string, LanguageBlock>>;
}

const CONDITION: Readonly<Record<string, LanguageArgument>> = {
  condition: { description: "An expression that must be true.", required: true },
  error_message: { description: "What is said when it is not.", required: true },
};

const DEPENDS_ON: LanguageArgument = {
  description: "What this waits for without referring to it: a list of references.",
};

const REPETITION: Readonly<Record<string, LanguageArgument>> = {
  count: { description: "How many instances there are; `count.index` is the number of one." },
  for_each: {
    description:
      "A map or a set of strings with an instance for each element: `each.key`, `each.value`.",
  },
  depends_on: DEPENDS_ON,
};

const PROVIDER: LanguageArgument = {
  description: "The configuration of the provider, such as `aws.west`.",
};

const LIFECYCLE: LanguageBlock = {
  description: "How changes are made to the objects of the resource.",
  arguments: {
    create_before_destroy: {
      description: "A replacement is created before the old object is destroyed.",
      values: ["true", "false"],
    },
    prevent_destroy: {
      description: "Plans that would destroy the object are refused.",
      values: ["true", "false"],
    },
    ignore_changes: {
      description: "Attributes whose differences are left as they are: a list, or `all`.",
      values: ["all"],
    },
    replace_triggered_by: {
      description: "References to resources whose change replaces the object.",
    },
  },
  blocks: {
    precondition: { description: "What must hold before the plan.", arguments: CONDITION },
    postcondition: {
      description: "What must hold after the apply; `self` is the object.",
      arguments: CONDITION,
    },
  },
};

const CONNECTION: LanguageBlock = {
  description: "How provisioners reach the machine.",
  arguments: Object.fromEntries(
    [
      ["type", "The protocol: `ssh`."],
      ["host", "The address of the machine."],
      ["port", "The port; 22 for ssh."],
      ["user", "The user that logs in."],
      ["password", "The password of the user."],
      ["private_key", "The content of a private key."],
      ["agent", "Whether the agent of ssh is used."],
      ["bastion_host", "A machine in between."],
      ["timeout", "How long a connection is tried, such as `5m`."],
    ].map(([name = "", description = ""]) => [name, { description }]),
  ),
};

const PROVISIONER: LanguageBlock = {
  description:
    "A command or a copy that runs after the object is created, or before it is destroyed.",
  labels: ["type"],
  arguments: {
    when: { description: "When it runs.", values: ["create", "destroy"] },
    on_failure: { description: "What a failure does.", values: ["fail", "continue"] },
    command: { description: "Of `local-exec`: the command." },
    inline: { description: "Of `remote-exec`: a list of commands." },
    source: { description: "Of `file`: what is copied." },
    destination: { description: "Of `file`: where to." },
  },
  blocks: { connection: CONNECTION },
};

const RESOURCE: LanguageBlock = {
  description: "An object that is created, changed and destroyed as the configuration says.",
  labels: ["type", "name"],
  arguments: { ...REPETITION, provider: PROVIDER },
  blocks: { lifecycle: LIFECYCLE, provisioner: PROVISIONER, connection: CONNECTION },
};

const DATA: LanguageBlock = {
  description: "Something that exists elsewhere and is read.",
  labels: ["type", "name"],
  arguments: { ...REPETITION, provider: PROVIDER },
  blocks: { lifecycle: LIFECYCLE },
};

/** The blocks at the top of a file. */
export const TOP_BLOCKS: Readonly<Record<string, LanguageBlock>> = {
  terraform: {
    description: "Settings of the module: versions, providers, where the state is.",
    arguments: {
      required_version: { description: "Versions of the language that the module works with." },
    },
    blocks: {
      required_providers: {
        description: 'The providers of the module: `name = { source = "...", version = "..." }`.',
      },
      backend: { description: "Where the state is.", labels: ["type"] },
      cloud: {
        description: "A server that keeps the state and may execute runs.",
        arguments: {
          hostname: { description: "The server." },
          organization: { description: "The organization there." },
        },
        blocks: {
          workspaces: {
            description: "The workspaces of the configuration.",
            arguments: {
              name: { description: "The one workspace." },
              tags: { description: "Tags that all of them have." },
              project: { description: "The project of new ones." },
            },
          },
        },
      },
    },
  },
  provider: {
    description: "The configuration of a provider.",
    labels: ["name"],
    arguments: {
      alias: { description: "The name of a further configuration, for `provider = name.alias`." },
    },
  },
  variable: {
    description: "An input of the module: `var.name`.",
    labels: ["name"],
    arguments: {
      type: {
        description: "The type of its values.",
        values: ["string", "number", "bool", "any", "list(string)", "map(string)", "set(string)"],
      },
      default: { description: "The value where none is given. Without it one must be." },
      description: { description: "What it is for." },
      sensitive: {
        description: "Whether its value is hidden in output.",
        values: ["true", "false"],
      },
      nullable: { description: "Whether null is a value of it.", values: ["true", "false"] },
      ephemeral: {
        description: "Whether its value is left out of plans and states.",
        values: ["true", "false"],
      },
    },
    blocks: { validation: { description: "What its values must be.", arguments: CONDITION } },
  },
  locals: { description: "Names for expressions: `local.name`." },
  output: {
    description: "What the module gives to its caller.",
    labels: ["name"],
    arguments: {
      value: { description: "The value.", required: true },
      description: { description: "What it is." },
      sensitive: {
        description: "Whether the value is hidden in output.",
        values: ["true", "false"],
      },
      ephemeral: {
        description: "Whether the value is left out of plans and states.",
        values: ["true", "false"],
      },
      depends_on: DEPENDS_ON,
    },
    blocks: {
      precondition: { description: "What must hold for the value.", arguments: CONDITION },
    },
  },
  module: {
    description: "A call of another module.",
    labels: ["name"],
    arguments: {
      source: {
        description: 'Where the module is: `"./path"`, a registry address, a Git address.',
        required: true,
      },
      version: { description: "Versions of a module of a registry." },
      providers: {
        description: "Configurations of providers that are passed: `{ aws = aws.west }`.",
      },
      ...REPETITION,
    },
  },
  resource: RESOURCE,
  data: DATA,
  ephemeral: {
    description: "Something that exists for the length of a run and is never stored.",
    labels: ["type", "name"],
    arguments: { ...REPETITION, provider: PROVIDER },
    blocks: { lifecycle: LIFECYCLE },
  },
  moved: {
    description: "An object has another address now.",
    arguments: {
      from: { description: "The address that it had.", required: true },
      to: { description: "The address that it has.", required: true },
    },
  },
  removed: {
    description: "A resource that is in the configuration no longer.",
    arguments: { from: { description: "The address that it had.", required: true } },
    blocks: {
      lifecycle: {
        description: "What becomes of its objects.",
        arguments: {
          destroy: {
            description: "Whether they are destroyed, or only forgotten.",
            required: true,
            values: ["true", "false"],
          },
        },
      },
    },
  },
  import: {
    description: "An object that exists and comes under the resource.",
    arguments: {
      to: { description: "The address of the resource.", required: true },
      id: { description: "How the provider names the object." },
      identity: { description: "The identity of the object, as an object value." },
      provider: PROVIDER,
      for_each: { description: "Several objects: a map or a set." },
    },
  },
  check: {
    description: "Conditions whose failure is a warning.",
    labels: ["name"],
    blocks: {
      assert: { description: "What must hold.", arguments: CONDITION },
      data: DATA,
    },
  },
};

/** A block that stands for any number of blocks. */
export const DYNAMIC_BLOCK: LanguageBlock = {
  description: "Blocks of one type, one for each element of a collection.",
  labels: ["type"],
  arguments: {
    for_each: { description: "The collection.", required: true },
    iterator: { description: "The name of the element in `content`; the type by default." },
    labels: { description: "The labels of the blocks." },
  },
  blocks: { content: { description: "The body of each block." } },
};
