import type {
  PrivateProvider as ProviderMessage,
  PrivateProviderVersion as VersionMessage,
} from "@stackwright/proto/stackwright";
import { PRIVATE_HOST, PRIVATE_NAMESPACE } from "@stackwright/provider-source";

/** A private provider, as its owner sees it. Times are milliseconds since the Unix epoch. */
export interface PrivateProvider {
  readonly providerId: string;
  readonly name: string;
  /** What templates put into `source`: `huawei.com/private-provider/<name>`. */
  readonly source: string;
  readonly description: string;
  /** Agency on whose behalf the function is called; empty for none. At most one of the two is set. */
  readonly agencyUrn: string;
  readonly agencyName: string;
  readonly createTimeMs: number;
  readonly updateTimeMs: number;
}

/** A version of a private provider: a number, and the function behind it. Never changes. */
export interface PrivateProviderVersion {
  readonly versionId: string;
  readonly providerId: string;
  readonly providerName: string;
  readonly source: string;
  readonly version: string;
  readonly description: string;
  readonly functionUrn: string;
  readonly createTimeMs: number;
}

/** What a provider is created from. Version and function come together or not at all. */
export interface NewProvider {
  readonly name: string;
  readonly description?: string | undefined;
  readonly version?: string | undefined;
  readonly versionDescription?: string | undefined;
  readonly functionUrn?: string | undefined;
  readonly agencyUrn?: string | undefined;
  readonly agencyName?: string | undefined;
}

/** What a version is created from. */
export interface NewVersion {
  readonly version: string;
  readonly description?: string | undefined;
  readonly functionUrn: string;
}

/** Who asks, for the audit trail. */
export interface RequestContext {
  /** Access key or token id. */
  readonly actor: string;
  readonly requestId: string;
  readonly clientRequestId?: string | undefined;
  readonly remoteAddress?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export function providerSource(name: string): string {
  return `${PRIVATE_HOST}/${PRIVATE_NAMESPACE}/${name}`;
}

export function providerOf(message: ProviderMessage): PrivateProvider {
  return {
    providerId: message.providerId,
    name: message.name,
    source: providerSource(message.name),
    description: message.description,
    agencyUrn: message.agencyUrn,
    agencyName: message.agencyName,
    createTimeMs: Number(message.createTimeMs),
    updateTimeMs: Number(message.updateTimeMs),
  };
}

export function versionOf(message: VersionMessage): PrivateProviderVersion {
  return {
    versionId: message.versionId,
    providerId: message.providerId,
    providerName: message.providerName,
    source: providerSource(message.providerName),
    version: message.version,
    description: message.description,
    functionUrn: message.functionUrn,
    createTimeMs: Number(message.createTimeMs),
  };
}
