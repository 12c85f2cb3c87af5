import type { ConfigurationItem } from "./configuration-tree.ts";
import type { Dice } from "./dice.ts";
import type { ExpressionSource } from "./expression.ts";
import { NUMBER, STRING, type ValueType } from "./value-type.ts";

/** A resource type of a real provider, as far as cases use it. */
export interface ProviderResource {
  readonly type: string;
  readonly provider: ProviderName;
  /** The attribute that others refer to, with its type. */
  readonly member: string;
  readonly memberType: ValueType;
  /** Attributes that the provider makes at random. */
  readonly random: readonly string[];
  /** Whether instances of a repeated module may have it as well: it names nothing outside. */
  readonly inModules: boolean;
  /** The arguments. `name` is different for each instance of each resource of a module. */
  readonly items: (texts: ExpressionSource, dice: Dice, name: string) => ConfigurationItem[];
}

export type ProviderName = "lab" | "local" | "null" | "random" | "time" | "tls";

const TEXTS: ValueType = { kind: "map", element: STRING };
const DAYS = ["2024-02-28T23:30:00Z", "1999-12-31T00:00:00Z", "2030-06-15T12:00:00Z"];

/** Arguments that only matter sometimes. */
function sometimes(dice: Dice, percent: number, text: string): readonly string[] {
  return dice.chance(percent) ? [text] : [];
}

/** What one entry of a provider block has to say. */
export const PROVIDER_BLOCKS: Readonly<Partial<Record<ProviderName, ConfigurationItem>>> = {
  lab: { open: 'provider "lab" {', items: ['directory = "../lab"'] },
};

export const PROVIDER_SOURCES: Readonly<Record<ProviderName, string>> = {
  lab: "example.test/lab/lab",
  local: "hashicorp/local",
  null: "hashicorp/null",
  random: "hashicorp/random",
  time: "hashicorp/time",
  tls: "hashicorp/tls",
};

export const PROVIDER_RESOURCES: readonly ProviderResource[] = [
  {
    type: "random_integer",
    provider: "random",
    member: "result",
    memberType: NUMBER,
    random: [],
    inModules: true,
    items: (texts, dice) => {
      // One number is possible, which is unknown in the plan all the same.
      const value = dice.below(100);
      return [
        `min = ${value}`,
        `max = ${value}`,
        ...sometimes(dice, 50, `keepers = { k = ${texts.of(STRING, 2)} }`),
      ];
    },
  },
  {
    type: "null_resource",
    provider: "null",
    member: "triggers",
    memberType: TEXTS,
    random: ["id"],
    inModules: true,
    items: (texts) => [`triggers = ${texts.of(TEXTS, 2)}`],
  },
  {
    type: "time_offset",
    provider: "time",
    member: "rfc3339",
    memberType: STRING,
    random: [],
    inModules: true,
    items: (texts, dice) => [
      `base_rfc3339 = "${dice.pick(DAYS)}"`,
      `offset_days = ${dice.below(400)}`,
      ...sometimes(dice, 50, `triggers = { k = ${texts.of(STRING, 2)} }`),
    ],
  },
  {
    type: "time_static",
    provider: "time",
    member: "unix",
    memberType: NUMBER,
    random: [],
    inModules: true,
    items: (texts, dice) => [
      `rfc3339 = "${dice.pick(DAYS)}"`,
      ...sometimes(dice, 50, `triggers = { k = ${texts.of(STRING, 2)} }`),
    ],
  },
  {
    type: "local_file",
    provider: "local",
    member: "content_md5",
    memberType: STRING,
    random: [],
    inModules: false,
    items: (texts, dice, name) => [
      `filename = "../files/${name}.txt"`,
      `content = ${texts.of(STRING, 3)}`,
      ...sometimes(dice, 30, 'file_permission = "0640"'),
    ],
  },
  {
    type: "lab_object",
    provider: "lab",
    member: "size",
    memberType: NUMBER,
    random: ["id"],
    inModules: false,
    items: (texts, dice, name) => [
      `name = "${name}"`,
      ...sometimes(dice, 60, `size = ${1 + dice.below(9)}`),
      ...sometimes(dice, 50, `tags = { k = coalesce(${texts.of(STRING, 2)}, "none") }`),
      ...sometimes(
        dice,
        40,
        `payload = { any = [${texts.of(STRING, 2)}, ${texts.of(NUMBER, 1)}] }`,
      ),
      ...sometimes(dice, 30, 'rules = [{ port = 80 }, { port = 53, protocol = "udp" }]'),
      ...sometimes(dice, 30, 'members = { one = { role = "admin" } }'),
    ],
  },
  {
    type: "tls_private_key",
    provider: "tls",
    member: "algorithm",
    memberType: STRING,
    random: [
      "id",
      "private_key_openssh",
      "private_key_pem",
      "private_key_pem_pkcs8",
      "public_key_fingerprint_md5",
      "public_key_fingerprint_sha256",
      "public_key_openssh",
      "public_key_pem",
    ],
    inModules: true,
    items: () => ['algorithm = "ED25519"'],
  },
];

/** What providers make at random, by type. */
export const RANDOM_ATTRIBUTES: ReadonlyMap<string, readonly string[]> = new Map([
  ...PROVIDER_RESOURCES.filter(({ random }) => random.length > 0).map(
    ({ type, random }) => [type, random] as const,
  ),
  ["tls_cert_request", ["id", "cert_request_pem", "private_key_pem"]],
  ["data.null_data_source", ["id", "random"]],
]);
