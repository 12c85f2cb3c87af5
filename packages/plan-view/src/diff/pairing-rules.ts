/**
 * How the elements of one list or set are paired. A place is written from the attribute on: `.policy` is the attribute,
 * `.policy{}` the document inside of it, `[]` an element, `.*` the members of a map.
 */
export interface PairingRule {
  /** Resource types; all without it. */
  readonly types?: RegExp;
  readonly place: RegExp;
  /** Members that together identify an element, as paths below it. */
  readonly key?: readonly string[];
  /** The order of the elements has no meaning. */
  readonly unordered?: true;
  /** Members that are always shown of a changed element. */
  readonly context?: readonly string[];
}

/** A document whose statements are those of an identity policy, whatever the attribute is called. */
const POLICY = String.raw`^[^{}]*\{\}`;

/**
 * The built-in table. The first rule that fits a place decides. Each row has a fixture in `pairing-rules.test.ts`.
 */
export const PAIRING_RULES: readonly PairingRule[] = [
  {
    place: new RegExp(String.raw`${POLICY}\.Statement\[\]\.(?:Not)?(?:Action|Resource)$`),
    unordered: true,
  },
  {
    place: new RegExp(String.raw`${POLICY}\.Statement\[\]\.(?:Not)?Principal(?:\.[^.[\]]+)?$`),
    unordered: true,
  },
  {
    place: new RegExp(String.raw`${POLICY}\.Statement\[\]\.Condition\.[^[\]]+$`),
    unordered: true,
  },
  {
    place: new RegExp(String.raw`${POLICY}\.Statement$`),
    key: ["Sid"],
    context: ["Sid", "Effect", "Action"],
  },
  {
    place: /(?:^|[.}\]])bindings?$/,
    key: ["role", "condition.title"],
    context: ["role"],
  },
  { place: /(?:^|[.}\]])members$/, types: /iam|policy/, unordered: true },
  {
    types: /security_group|firewall/,
    place: /^\.(?:ingress|egress|rule)$/,
    unordered: true,
    context: ["protocol", "from_port", "to_port"],
  },
  { types: /security_group|firewall/, place: /(?:cidr_blocks|source_ranges)$/, unordered: true },
  { place: /\.(?:containers?|container_definitions\{\}|init_containers?)$/, key: ["name"] },
  { place: /\.container_definitions\{\}$/, key: ["name"] },
  { place: /\.(?:env|environment|secrets)$/, key: ["name"] },
  { place: /\.(?:ports|portMappings|port_mappings)$/, key: ["containerPort", "protocol"] },
  { place: /\.(?:volumeMounts|volume_mounts?)$/, key: ["mountPath"] },
  { place: /\.volumes?$/, key: ["name"] },
  { types: /dns|route53|record/, place: /\.(?:records?|rrdatas|values)$/, unordered: true },
  { types: /(?:^|_)(?:lb|alb|elb|load_balancer)/, place: /^\.listener$/, key: ["port"] },
  { types: /(?:^|_)(?:lb|alb|elb|load_balancer)/, place: /^\.rule$/, key: ["priority"] },
  { place: /\.[Tt]ags?$/, key: ["key"], unordered: true },
  { types: /route_table/, place: /^\.route$/, key: ["cidr_block", "ipv6_cidr_block"] },
  { types: /network_acl/, place: /^\.(?:ingress|egress)$/, key: ["rule_no"] },
];

/** Members that identify an element if the schema and the table name none, the strongest first. */
export const INFERRED_KEYS: readonly string[] = [
  "name",
  "id",
  "key",
  "sid",
  "arn",
  "type",
  "port",
  "path",
  "host",
  "role",
];
