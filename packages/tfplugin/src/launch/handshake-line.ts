import { X509Certificate } from "node:crypto";
import { isAbsolute } from "node:path";
import type { RpcAddress } from "@stackwright/proto/grpc";
import { TfpluginError } from "../errors.ts";
import { CORE_PROTOCOL } from "./plugin-protocol.ts";

/** What a provider says of itself in the first line that it writes. */
export interface HandshakeLine {
  readonly protocol: 5 | 6;
  readonly address: RpcAddress;
  /** PEM of the server's certificate; undefined when the provider does not encrypt. */
  readonly certificate: string | undefined;
}

/** A certificate field that is shorter is none: go-plugin once put other things there. */
const MIN_CERTIFICATE_LENGTH = 50;

/**
 * Reads `1|<protocol>|<network>|<address>|grpc|<certificate>`, the line of go-plugin's handshake. The certificate is
 * base64 of its DER form without padding; what follows it is for newer clients and is left alone.
 *
 * `TFPLUGIN_HANDSHAKE_INVALID`, `TFPLUGIN_PROTOCOL_UNSUPPORTED`, `TFPLUGIN_CERTIFICATE_INVALID`.
 */
export function parseHandshakeLine(line: string): HandshakeLine {
  const parts = line.trim().split("|");
  const [core = "", protocol = "", network = "", address = "", transport = "netrpc"] = parts;
  if (parts.length < 4 || !/^\d+$/.test(core) || !/^\d+$/.test(protocol)) {
    throw invalid(line, "it is not a plugin handshake");
  }
  if (Number(core) !== CORE_PROTOCOL) {
    throw invalid(line, `version ${core} of the handshake is unknown, ${CORE_PROTOCOL} is known`);
  }
  const version = Number(protocol);
  if (version !== 5 && version !== 6) {
    const text = `the provider speaks version ${protocol} of the provider protocol, 5 and 6 are known`;
    throw new TfpluginError("TFPLUGIN_PROTOCOL_UNSUPPORTED", text);
  }
  if (transport !== "grpc") {
    throw invalid(line, `the provider talks ${JSON.stringify(transport)} instead of grpc`);
  }
  return {
    protocol: version,
    address: parseAddress(line, network, address),
    certificate: parseCertificate(parts[5] ?? ""),
  };
}

function parseAddress(line: string, network: string, address: string): RpcAddress {
  if (network === "unix" && isAbsolute(address)) return { socketPath: address };
  const match = /^(?<host>\[[\da-f:.]+\]|[^:]+):(?<port>\d{1,5})$/i.exec(address)?.groups;
  if (network === "tcp" && match?.host !== undefined) {
    const host = match.host.replace(/^\[(.*)\]$/, "$1");
    const port = Number(match.port);
    if (isLoopback(host) && port > 0 && port < 65_536) return { host, port };
  }
  throw invalid(line, "its address is neither a unix socket nor a port of this machine");
}

/** A provider is a local program: nothing is to be sent elsewhere because of what it prints. */
function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function parseCertificate(field: string): string | undefined {
  if (field.length < MIN_CERTIFICATE_LENGTH) return undefined;
  if (!/^[A-Za-z0-9+/]+$/.test(field)) throw invalidCertificate("is not base64 without padding");
  try {
    return new X509Certificate(Buffer.from(field, "base64")).toString();
  } catch (cause) {
    throw invalidCertificate("cannot be read", cause);
  }
}

function invalid(line: string, why: string): TfpluginError {
  const shown = JSON.stringify(line.length > 200 ? `${line.slice(0, 200)}...` : line);
  return new TfpluginError("TFPLUGIN_HANDSHAKE_INVALID", `the first line is ${shown}: ${why}`);
}

function invalidCertificate(why: string, cause?: unknown): TfpluginError {
  const text = `the certificate in the handshake ${why}`;
  return new TfpluginError("TFPLUGIN_CERTIFICATE_INVALID", text, { cause });
}
