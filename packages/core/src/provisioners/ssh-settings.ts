import type { Value } from "@stackwright/cty";
import { memberOf, textOf } from "./provisioner-runner.ts";

/** One computer that is reached by SSH. */
export interface SshHost {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  readonly privateKey: string | undefined;
  /** The public key that the host must have, as in `known_hosts` without the name; undefined: any. */
  readonly hostKey: string | undefined;
}

/** A `connection` block, complete. */
export interface SshSettings extends SshHost {
  /** Reached first, and asked to connect to the host. */
  readonly bastion: SshHost | undefined;
  /** Whether keys of the SSH agent are offered. */
  readonly agent: boolean;
  /** How long the host may take until it accepts a connection. */
  readonly timeoutMs: number;
  /** Where a script is stored on the host; `%RAND%` stands for digits. */
  readonly scriptPath: string;
}

/** Arguments of the reference command that this connection does not have, with what to do. */
const REFUSED: Readonly<Record<string, string>> = {
  certificate: "Add the public key to the authorized keys of the host.",
  bastion_certificate: "Add the public key to the authorized keys of the bastion.",
  proxy_host: "Use bastion_host.",
  agent_identity: "Set private_key.",
};

const DEFAULT_TIMEOUT_MS = 5 * 60_000;
const DEFAULT_SCRIPT_PATH = "/tmp/terraform_%RAND%.sh";

/** Reads a connection. Throws with the name of the argument that is wrong or not supported. */
export function sshSettings(connection: Value | undefined, hasAgent: boolean): SshSettings {
  if (connection === undefined || connection.isNull) {
    throw new Error("the provisioner has no connection: add a connection block with a host");
  }
  const type = textOf(connection, "type") ?? "ssh";
  if (type !== "ssh") {
    throw new Error(`connections of the type "${type}" are not supported: use "ssh"`);
  }
  for (const [name, advice] of Object.entries(REFUSED)) {
    if (memberOf(connection, name) === undefined) continue;
    throw new Error(`the argument ${name} of a connection is not supported. ${advice}`);
  }
  const platform = textOf(connection, "target_platform") ?? "unix";
  if (platform !== "unix") {
    throw new Error(`the target_platform "${platform}" is not supported: use "unix"`);
  }
  const main = hostOf(connection, "", { user: "root" });
  if (main.host === "") throw new Error("the host of the connection must not be empty");
  const bastion = textOf(connection, "bastion_host");
  return {
    ...main,
    bastion:
      bastion === undefined || bastion === "" ? undefined : hostOf(connection, "bastion_", main),
    agent: memberOf(connection, "agent")?.asBoolean() ?? hasAgent,
    timeoutMs: durationMs(textOf(connection, "timeout")),
    scriptPath: textOf(connection, "script_path") ?? DEFAULT_SCRIPT_PATH,
  };
}

/** The arguments of a host; of a bastion those of the host itself are the default. */
function hostOf(
  connection: Value,
  prefix: "" | "bastion_",
  defaults: Partial<SshHost> & Pick<SshHost, "user">,
): SshHost {
  return {
    host: textOf(connection, `${prefix}host`) ?? "",
    port: memberOf(connection, `${prefix}port`)?.asInteger() ?? 22,
    user: textOf(connection, `${prefix}user`) ?? defaults.user,
    password: textOf(connection, `${prefix}password`) ?? defaults.password,
    privateKey: textOf(connection, `${prefix}private_key`) ?? defaults.privateKey,
    hostKey: textOf(connection, `${prefix}host_key`),
  };
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `30s`, `5m`, `1h30m`; a number alone counts minutes. */
function durationMs(text: string | undefined): number {
  if (text === undefined || text === "") return DEFAULT_TIMEOUT_MS;
  if (/^\d+$/.test(text)) return Number(text) * 60_000;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) {
    throw new Error(`"${text}" is not a valid timeout: use a duration such as 30s or 5m`);
  }
  return [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)].reduce(
    (sum, [, number, unit]) => sum + Number(number) * (UNITS[unit ?? "s"] ?? 0),
    0,
  );
}
