import type { AddressInfo } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { createSelfSignedIdentity, type TlsIdentity } from "@stackwright/proto/grpc";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { onTestFinished } from "vitest";

interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly text: string;
  readonly isEncrypted: boolean;
}

const identities = new Map<string, TlsIdentity>();

/** One for each name: of several authorities with the same name, OpenSSL may take another one for that of a certificate. */
function trustedIdentity(name: string): TlsIdentity {
  const known = identities.get(name);
  if (known !== undefined) return known;
  const identity = createSelfSignedIdentity({ name });
  setDefaultCACertificates([...getCACertificates("default"), String(identity.certificate)]);
  identities.set(name, identity);
  return identity;
}

/** An SMTP server on this machine with a certificate that this process trusts from then on; it wants the user `relay`. */
export async function startMailServer(options: SMTPServerOptions = {}, name = "localhost") {
  const { certificate, privateKey } = trustedIdentity(name);
  const received: ReceivedMail[] = [];
  /** Recipients that were refused once, for the moment. */
  const later = new Set<string>();
  const server = new SMTPServer({
    secure: true,
    cert: String(certificate),
    key: String(privateKey),
    onAuth: ({ username, password }, _session, done) => {
      const isKnown = username === "relay" && password === "canary-pass/word";
      if (isKnown) done(null, { user: username });
      // The password is said in the answer, as a careless server may.
      else done(new Error(`no account has the password ${password ?? ""}`));
    },
    onRcptTo: ({ address }, _session, done) => {
      if (address.startsWith("later@") && !later.has(address)) {
        later.add(address);
        done(Object.assign(new Error("try again in a moment"), { responseCode: 451 }));
        return;
      }
      done(address.startsWith("refused@") ? new Error("no such mailbox") : null);
    },
    onData: (stream, { envelope: { mailFrom, rcptTo }, secure }, done) => {
      const chunks: Uint8Array[] = [];
      stream.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      stream.on("end", () => {
        received.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString("utf8"),
          isEncrypted: secure,
        });
        done();
      });
    },
    ...options,
  });
  server.on("error", () => undefined);
  const listening = server.listen(0, "127.0.0.1");
  await new Promise((resolve) => listening.once("listening", resolve));
  onTestFinished(async () => {
    await new Promise<void>((resolve) => server.close(resolve));
  });
  const { port } = listening.address() as AddressInfo;
  const credentials = `relay:${encodeURIComponent("canary-pass/word")}@`;
  // A server in a process of its own trusts it by NODE_EXTRA_CA_CERTS.
  return { port, received, credentials, certificate: String(certificate) };
}
