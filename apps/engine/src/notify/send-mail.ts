import { connect, type Socket } from "node:net";
import type { NotificationDestination } from "@stackwright/proto/stackwright";
import { createTransport } from "nodemailer";
import type { OutgoingHosts } from "../vcs/provider/outgoing-hosts.ts";
import { hostAddress, type MailServer, parseMailServer } from "./mail-server.ts";
import { type BodyFacts, linkOf } from "./notification-body.ts";
import { notificationLine } from "./notification-text.ts";
import type { SendOutcome } from "./send-notification.ts";

/** The whole dialogue; and how long the server may be silent in it. */
const TIMEOUT_MS = 30_000;
const SILENCE_MS = 10_000;
/** Bytes of one answer that are read. */
const ANSWER_BYTES = 8_192;

interface Mail {
  readonly destination: Pick<NotificationDestination, "sender" | "recipients">;
  /** With the credentials of the server. */
  readonly address: string;
  readonly facts: BodyFacts;
}

/** Sends one mail about an event, once, to all recipients. Rejects where the signal aborts; else the outcome says what was wrong. */
export async function sendMail(
  hosts: Pick<OutgoingHosts, "lookup">,
  { destination: { sender, recipients }, address, facts }: Mail,
  signal: AbortSignal,
): Promise<SendOutcome> {
  const server = parseMailServer(address);
  const until = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const { event, origin } = facts;
  const line = notificationLine(facts, (text) => text);
  let socket: Socket | undefined;
  try {
    socket = await connected(hosts, server, until);
    const transport = transportOver(socket, server);
    const sent = await transport.sendMail({
      from: sender,
      to: [...recipients],
      subject: line,
      text: `${line}\n\n${linkOf(facts)}\n`,
      date: new Date(Number(event.atMs)),
      // The same in each attempt, so that a mail that comes twice is recognised.
      messageId: `<${event.id}@${new URL(origin).hostname.replace(/^\[|\]$/g, "")}>`,
      headers: { "Auto-Submitted": "auto-generated", "X-Stackwright-Event": event.event },
    });
    const [later, refused] = refusedOf(sent);
    const parts = [
      ...(refused.length === 0 ? [] : [`the server refused ${refused.join(", ")}`]),
      ...(later.length === 0 ? [] : [`it does not take ${later.join(", ")} for the moment`]),
    ];
    const status = statusOf(sent.response);
    return { status, isDelivered: true, problem: parts.join("; "), later, refused };
  } catch (error) {
    signal.throwIfAborted();
    const { message, responseCode } = error as Error & { readonly responseCode?: number };
    const reason = until.aborted ? `the server took longer than ${TIMEOUT_MS / 1_000} s` : message;
    return { status: responseCode ?? 0, isDelivered: false, problem: shown(reason, server) };
  } finally {
    socket?.destroy();
  }
}

/** Recipients that may be tried again, as the reply was one for the moment (4xx), and those that are refused for good. */
function refusedOf({
  rejected,
  rejectedErrors = [],
}: {
  readonly rejected: readonly unknown[];
  readonly rejectedErrors?: readonly Error[] | undefined;
}): readonly [later: string[], refused: string[]] {
  const later = rejectedErrors.flatMap((error) => {
    const { recipient, responseCode = 0 } = error as Error & {
      readonly recipient?: string;
      readonly responseCode?: number;
    };
    return recipient !== undefined && responseCode >= 400 && responseCode < 500 ? [recipient] : [];
  });
  return [later, rejected.map(String).filter((one) => !later.includes(one))];
}

/** A connection to an address that was checked. The library would resolve the name on its own. */
async function connected(
  hosts: Pick<OutgoingHosts, "lookup">,
  server: MailServer,
  signal: AbortSignal,
): Promise<Socket> {
  const { host, port } = server;
  const lookup = hosts.lookup(hostAddress(server));
  const socket = connect({ host, port, signal, ...(lookup !== undefined && { lookup }) });
  const opened = Promise.withResolvers<void>();
  socket.once("connect", opened.resolve);
  socket.on("error", opened.reject);
  await opened.promise;
  return socket;
}

function transportOver(socket: Socket, { host, port, tls, username, password }: MailServer) {
  return createTransport({
    host,
    port,
    secure: tls === "always",
    requireTLS: tls === "first",
    ignoreTLS: tls === "never",
    connectionTimeout: SILENCE_MS,
    greetingTimeout: SILENCE_MS,
    socketTimeout: SILENCE_MS,
    maxResponseSize: ANSWER_BYTES,
    ...(username !== "" && { auth: { user: username, pass: password } }),
    disableFileAccess: true,
    disableUrlAccess: true,
    getSocket: (_options, done) => done(null, { connection: socket }),
  });
}

/** One line of what the server said, without the credentials that it was given. */
function shown(reason: string, { username, password }: MailServer): string {
  const [line = ""] = reason.trim().split("\n");
  const secrets = [
    password,
    Buffer.from(password).toString("base64"),
    Buffer.from(`\0${username}\0${password}`).toString("base64"),
  ].filter((one) => password !== "" && one !== "");
  const hidden = secrets.reduce((text, secret) => text.replaceAll(secret, "…"), line);
  return hidden.replaceAll(/[^\x20-\x7e…]/g, " ").slice(0, 300);
}

function statusOf(response: string | undefined): number {
  return Number(/^\d{3}/.exec(response ?? "")?.[0] ?? 0);
}
