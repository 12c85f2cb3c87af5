import { isIP } from "node:net";
import { ServerError } from "../domain/server-error.ts";
import type { OutgoingHosts } from "../vcs/provider/outgoing-hosts.ts";

/** An SMTP server, as the address of a destination names it. */
export interface MailServer {
  readonly host: string;
  readonly port: number;
  /** `always`: TLS from the first byte; `first`: TLS before anything else is sent; `never`: within this machine. */
  readonly tls: "always" | "first" | "never";
  /** Both empty where the server wants none. */
  readonly username: string;
  readonly password: string;
}

const EXAMPLE = "smtps://USER:PASSWORD@mail.example.com";
const PORTS = { "smtps:": 465, "smtp:": 587 } as const;

/** The server that an address names. `unprocessable` for one that the server may not call, and for one that says too much or too little. */
export function parseMailServer(address: string): MailServer {
  const url = URL.parse(address);
  const protocol = url?.protocol;
  if (url === null || (protocol !== "smtps:" && protocol !== "smtp:")) {
    throw refused(
      `the address of a mail server is ${EXAMPLE}, or smtp:// where TLS is begun later`,
    );
  }
  // Hosts of these protocols are not normalized, and so might be private ones in disguise.
  const host = URL.parse(`https://${url.host.replace(/:\d+$/, "")}`)?.hostname;
  if (host === undefined || url.hostname === "") throw refused("the address has no host");
  if ((url.pathname !== "" && url.pathname !== "/") || url.search !== "" || url.hash !== "") {
    throw refused("the address of a mail server ends with its host and port");
  }
  const username = decoded(url.username);
  const password = decoded(url.password);
  if ((username === "") !== (password === "")) {
    throw refused("the address has a user and a password, or neither");
  }
  const bare = host.replace(/^\[|\]$/g, "");
  const isLoopback =
    bare === "localhost" || bare === "::1" || (isIP(bare) === 4 && bare.startsWith("127."));
  const later = isLoopback ? "never" : "first";
  return {
    host: bare,
    port: url.port === "" ? PORTS[protocol] : Number(url.port),
    tls: protocol === "smtps:" ? "always" : later,
    username,
    password,
  };
}

/** What may be shown of an address. */
export function shownMailServer({ host, port, tls }: MailServer): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return `${tls === "always" ? "smtps" : "smtp"}://${name}:${port}`;
}

/** An address by which the rules about hosts know the server. */
export function hostAddress({ host, port }: Pick<MailServer, "host" | "port">): URL {
  return new URL(`https://${host.includes(":") ? `[${host}]` : host}:${port}`);
}

/** The server that an address names, where it may be called. */
export function requireMailServer(hosts: OutgoingHosts, address: string): MailServer {
  const server = parseMailServer(address);
  hosts.require(hostAddress(server));
  return server;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused("the user or the password is not percent-encoded, as a URL needs");
  }
}

function refused(detail: string): ServerError {
  return new ServerError("unprocessable", detail);
}
