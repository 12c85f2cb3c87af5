import { Type } from "@stackwright/cty";
import type { SchemaAttribute, SchemaBlock } from "@stackwright/lang";

const TEXT = Type.string;
const NUMBER = Type.number;
const FLAG = Type.bool;
const TEXTS = Type.list(Type.string);

function block(
  types: Readonly<Record<string, Type>>,
  required: readonly string[] = [],
): SchemaBlock {
  const attributes = Object.entries(types).map(([name, type]): [string, SchemaAttribute] => {
    const needed = required.includes(name);
    return [
      name,
      {
        type,
        required: needed,
        optional: !needed,
        computed: false,
        sensitive: false,
        writeOnly: false,
        deprecated: false,
      },
    ];
  });
  return { attributes: new Map(attributes), blocks: new Map(), deprecated: false };
}

/** The arguments of each provisioner, by its type. */
export const PROVISIONER_SCHEMAS: ReadonlyMap<string, SchemaBlock> = new Map([
  ["file", block({ source: TEXT, content: TEXT, destination: TEXT }, ["destination"])],
  [
    "local-exec",
    block(
      {
        command: TEXT,
        interpreter: TEXTS,
        working_dir: TEXT,
        environment: Type.map(Type.string),
        quiet: FLAG,
      },
      ["command"],
    ),
  ],
  ["remote-exec", block({ inline: TEXTS, script: TEXT, scripts: TEXTS })],
]);

/** The arguments of a `connection` block, those that are refused among them. */
export const CONNECTION_SCHEMA: SchemaBlock = block(
  {
    type: TEXT,
    host: TEXT,
    port: NUMBER,
    user: TEXT,
    password: TEXT,
    private_key: TEXT,
    certificate: TEXT,
    agent: FLAG,
    agent_identity: TEXT,
    host_key: TEXT,
    timeout: TEXT,
    script_path: TEXT,
    target_platform: TEXT,
    bastion_host: TEXT,
    bastion_port: NUMBER,
    bastion_user: TEXT,
    bastion_password: TEXT,
    bastion_private_key: TEXT,
    bastion_certificate: TEXT,
    bastion_host_key: TEXT,
    proxy_scheme: TEXT,
    proxy_host: TEXT,
    proxy_port: NUMBER,
    proxy_user_name: TEXT,
    proxy_user_password: TEXT,
    https: FLAG,
    insecure: FLAG,
    use_ntlm: FLAG,
    cacert: TEXT,
  },
  ["host"],
);
