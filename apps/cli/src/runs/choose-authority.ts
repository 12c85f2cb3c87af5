import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { resolve } from "node:path";
import { connect, getCACertificates, type TLSSocket } from "node:tls";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { printable } from "../terminal/printable.ts";

/** Long enough for a server at work; the login after it says what else is wrong. */
const PROBE_MS = 10_000;
/** A chain of certificates that a server presents is as long as this at most. */
const MAX_CHAIN = 10;
/** The issuer of the certificate is unknown; for all other reasons another authority would be of no use. */
const UNKNOWN_ISSUER =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/;

/**
 * The authority that a login trusts for a server, in PEM: that of a file, that of the login before, or, where none that is known here vouches
 * for the server, the one that it presents, once the user has compared the fingerprint. Undefined where none is needed. Nothing secret is
 * sent to the server.
 *
 * @param stored of the login before
 */
export async function chooseAuthority(
  server: string,
  {
    caFile,
    stored,
  }: { readonly caFile?: string | undefined; readonly stored?: string | undefined },
  context: CommandContext,
): Promise<string | undefined> {
  const address = new URL(server);
  if (caFile !== undefined) {
    if (address.protocol === "https:") return readAuthority(resolve(context.directory, caFile));
    throw new CommandError("--ca-file is for a server with TLS.", {
      advice: "The address of a server with TLS begins with https://.",
    });
  }
  if (address.protocol !== "https:") return undefined;
  const presented = await untrustedChain(address, stored, context.signal);
  if (presented === undefined) return stored;
  if (stored !== undefined) {
    context.terminal.writeError(
      `Warning: ${server} had another certificate at the last login. Ask its operator why.\n`,
    );
  }
  return trustedByUser(server, presented, context);
}

async function readAuthority(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new CommandError(`The file "${path}" of --ca-file cannot be read.`, { cause });
  });
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    for (const one of found) void new X509Certificate(one);
    if (found.length > 0) return `${found.join("\n")}\n`;
  } catch {
    // Said below.
  }
  throw new CommandError(`The file "${path}" of --ca-file holds no certificate in PEM.`, {
    advice:
      "It begins with -----BEGIN CERTIFICATE-----. Ask the server operator for that of the authority.",
  });
}

/** The certificates that a server presents, its own first, where their issuer is unknown; else undefined. */
async function untrustedChain(
  { hostname, port }: URL,
  stored: string | undefined,
  signal: AbortSignal,
): Promise<readonly X509Certificate[] | undefined> {
  const host = hostname.replace(/^\[|\]$/g, "");
  const socket = connect({
    host,
    port: Number(port || 443),
    ...(isIP(host) === 0 && { servername: host }),
    ...(stored !== undefined && { ca: [...getCACertificates("default"), stored] }),
    // It is looked at, and nothing is sent.
    rejectUnauthorized: false,
  });
  const stop = AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]);
  const isConnected = await new Promise<boolean>((found) => {
    socket.once("secureConnect", () => found(true));
    socket.once("close", () => found(false));
    socket.on("error", () => found(false));
    stop.addEventListener("abort", () => found(false), { once: true });
  });
  try {
    signal.throwIfAborted();
    const why = socket.authorizationError as Error | string | null | undefined;
    const code =
      typeof why === "string" ? why : (why as { code?: string } | null | undefined)?.code;
    return isConnected && UNKNOWN_ISSUER.test(code ?? "") ? chainOf(socket) : undefined;
  } finally {
    socket.destroy();
  }
}

function chainOf(socket: TLSSocket): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  for (let next = socket.getPeerCertificate(true); next.raw !== undefined; ) {
    chain.push(new X509Certificate(next.raw));
    const { issuerCertificate: issuer } = next;
    // The last one names itself.
    if (issuer === undefined || issuer === next || chain.length === MAX_CHAIN) break;
    next = issuer;
  }
  return chain;
}

/** Shows the last certificate of a chain, which vouches for the others, and asks. */
async function trustedByUser(
  server: string,
  chain: readonly X509Certificate[],
  { terminal, signal }: CommandContext,
): Promise<string> {
  const [own] = chain;
  const authority = chain.at(-1);
  const advice = `Ask the server operator for the certificate of its authority: stackwright login --server ${server} --ca-file FILE`;
  const untrusted = `The certificate of ${server} is not trusted here.`;
  if (own === undefined || authority?.verify(authority.publicKey) !== true) {
    throw new CommandError(`${untrusted} The server does not present that of its authority.`, {
      advice,
    });
  }
  if (!terminal.interactive) throw new CommandError(untrusted, { advice });
  const { hostname } = new URL(server);
  const line = (what: string, text: string): string =>
    `  ${what.padEnd(11)} ${printable(text.replaceAll("\n", ", "))}\n`;
  terminal.write(
    `${untrusted} It would be trusted by\n${line("subject", authority.subject)}${
      own === authority ? "" : line("of", own.subject)
    }${line("valid until", authority.validTo)}${line("SHA-256", authority.fingerprint256)}
Compare this with what the server operator has, at the server:
  openssl x509 -noout -sha256 -fingerprint -in FILE\n`,
  );
  const answer = await terminal.ask(
    `\nTrust it for ${hostname} from now on? Only "yes" is taken as a yes: `,
    { signal },
  );
  if (answer?.trim() === "yes") return authority.toString();
  throw new CommandError("The certificate is not trusted. Nothing was sent, and nothing stored.", {
    advice,
  });
}
