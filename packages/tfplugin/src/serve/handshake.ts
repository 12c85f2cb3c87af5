import { X509Certificate } from "node:crypto";
import type { RpcAddress } from "@stackwright/proto/grpc";
import { TfpluginError } from "../errors.ts";
import {
  COOKIE_NAME,
  COOKIE_VALUE,
  CORE_PROTOCOL,
  PLUGIN_VARIABLES,
} from "../launch/plugin-protocol.ts";

/** What the client of a plug-in asks for, by variables. */
export interface ClientRequirements {
  /** Versions of the provider protocol that it speaks; undefined where it does not say. */
  readonly protocols: readonly number[] | undefined;
  /** PEM of the certificate that it has; undefined where it does not encrypt. */
  readonly certificate: string | undefined;
  /** Where sockets are to be made. */
  readonly socketDirectory: string | undefined;
  /** Ports to choose from where there are no unix sockets. */
  readonly ports: { readonly from: number; readonly to: number };
}

/** Reads the client's variables. `TFPLUGIN_NOT_LAUNCHED` where the program was started by hand. */
export function readClientRequirements(
  env: Readonly<Record<string, string | undefined>>,
): ClientRequirements {
  if (env[COOKIE_NAME] !== COOKIE_VALUE) {
    const text =
      "This program is a Terraform provider. It is not meant to be run by itself: it is started by terraform, or by " +
      "another program that uses providers.";
    throw new TfpluginError("TFPLUGIN_NOT_LAUNCHED", text);
  }
  const versions = env[PLUGIN_VARIABLES.protocolVersions];
  return {
    protocols: versions?.split(",").map(Number),
    certificate: nonEmpty(env[PLUGIN_VARIABLES.clientCertificate]),
    socketDirectory: nonEmpty(env[PLUGIN_VARIABLES.socketDirectory]),
    ports: {
      from: Number(env[PLUGIN_VARIABLES.minPort] ?? 10_000),
      to: Number(env[PLUGIN_VARIABLES.maxPort] ?? 25_000),
    },
  };
}

/**
 * The version to serve: the highest that both sides speak. A client that does not say is from the time of 5. Where
 * there is none in common, our lowest: the client explains it better than a program without output could.
 */
export function chooseProtocol(
  { protocols = [5] }: ClientRequirements,
  offered: readonly (5 | 6)[],
): 5 | 6 {
  const common = offered.filter((version) => protocols.includes(version));
  const choice = common.length > 0 ? Math.max(...common) : Math.min(...offered);
  return choice === 6 ? 6 : 5;
}

/** The first line on standard output, with its end. */
export function formatHandshake(server: {
  readonly protocol: 5 | 6;
  readonly address: RpcAddress;
  /** PEM. */
  readonly certificate: string | undefined;
}): string {
  const { protocol, address, certificate } = server;
  const where =
    "socketPath" in address
      ? ["unix", address.socketPath]
      : ["tcp", `${address.host}:${address.port}`];
  // Clients take base64 only without padding.
  const der =
    certificate === undefined ? "" : new X509Certificate(certificate).raw.toString("base64");
  const fields = [CORE_PROTOCOL, protocol, ...where, "grpc", der.replace(/=+$/, "")];
  return `${fields.join("|")}\n`;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
