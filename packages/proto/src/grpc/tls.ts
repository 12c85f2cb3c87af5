import { createSecureContext, type SecureContextOptions } from "node:tls";
import {
  type ChannelCredentials,
  type ChannelOptions,
  credentials,
  ServerCredentials,
} from "@grpc/grpc-js";

/** PEM text. */
export type Pem = string | Uint8Array;

/** Who one side is: its certificate chain and the private key of the first certificate. */
export interface TlsIdentity {
  readonly certificate: Pem;
  readonly privateKey: Pem;
}

export interface ChannelTls {
  /**
   * The authorities whose certificates are trusted.
   * @default those that Node trusts
   */
  readonly trusted?: Pem;
  /** For mutual TLS: who the client is. */
  readonly identity?: TlsIdentity;
  /**
   * The name that the server's certificate has to be for, where it is not the host of the address.
   */
  readonly serverName?: string;
}

export interface ServerTls {
  readonly identity: TlsIdentity;
  /** For mutual TLS: clients must have a certificate of one of these authorities. */
  readonly trusted?: Pem;
}

/** Credentials of a client, in the clear without `tls`. */
export function channelCredentials(tls: ChannelTls | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const { trusted, identity } = tls;
  return credentials.createSsl(
    trusted === undefined ? null : pemBuffer(trusted),
    identity === undefined ? null : pemBuffer(identity.privateKey),
    identity === undefined ? null : pemBuffer(identity.certificate),
  );
}

/** Channel options that go with {@link channelCredentials}. */
export function tlsChannelOptions(tls: ChannelTls | undefined): ChannelOptions {
  if (tls?.serverName === undefined) return {};
  return {
    "grpc.ssl_target_name_override": tls.serverName,
    "grpc.default_authority": tls.serverName,
  };
}

/** Credentials of a server, in the clear without `tls`. */
export function serverCredentials(tls: ServerTls | undefined): ServerCredentials {
  return tls === undefined ? ServerCredentials.createInsecure() : new TlsCredentials(tls);
}

/** Credentials whose certificate can be replaced: connections that exist keep theirs. */
export class TlsCredentials extends ServerCredentials {
  constructor(tls: ServerTls) {
    super({ requestCert: tls.trusted !== undefined }, contextOptions(tls));
  }

  /** Throws where certificate and key are not valid, or not of one another, and changes nothing then. */
  replace(tls: ServerTls): void {
    const options = contextOptions(tls);
    createSecureContext(options);
    this.updateSecureContextOptions(options);
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}

function contextOptions({ identity, trusted }: ServerTls): SecureContextOptions {
  return {
    cert: [pemBuffer(identity.certificate)],
    key: [pemBuffer(identity.privateKey)],
    ...(trusted === undefined ? {} : { ca: pemBuffer(trusted) }),
  };
}

function pemBuffer(pem: Pem): Buffer {
  return Buffer.from(pem);
}
