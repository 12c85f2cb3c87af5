import { createHash } from "node:crypto";
import {
  AccessKey as KeyMessage,
  type StorageScope,
  AccessToken as TokenMessage,
} from "@stackwright/proto/stackwright";
import { type RecordName, recordKind } from "../domain/record-store.ts";
import { SYSTEM_TENANCY } from "../domain/scope.ts";
import type { Principal } from "./principal.ts";
import { rolesNamed } from "./role-names.ts";
import type { TokenStorageScope } from "./storage-scopes.ts";

/** Access keys, with their secrets encrypted. */
export const ACCESS_KEY = recordKind("AccessKey", KeyMessage);
export const TOKEN = recordKind("AccessToken", TokenMessage);

/** Before the beginning of the digest, in the id of a token. */
export const TOKEN_ID = "token-";

/** A credential without its secret. */
export interface Credential extends Principal {
  readonly description: string;
  readonly createTimeMs: number;
  readonly expireTimeMs: number | undefined;
  readonly disabled: boolean;
  readonly rotatedFrom: string | undefined;
  /** When a token was last used, to the hour; undefined for one that was not, and for access keys. */
  readonly lastUseTimeMs: number | undefined;
}

const KEY_FORM = /^[A-Z0-9]{8,40}$/;

/** Whether a text may be an access key. */
export function isAccessKey(text: string): boolean {
  return KEY_FORM.test(text);
}

/** Whether a credential is a token, with which others can be made. */
export function isTokenId(id: string | undefined): id is string {
  return id?.startsWith(TOKEN_ID) === true;
}

/** The id of the token whose record has this name. */
export function tokenIdOf(digest: string): string {
  return `${TOKEN_ID}${digest.slice(0, 12)}`;
}

/** Of a later release, what is not known of the access allows less. */
export function storedScope({ kinds, access, ...scope }: StorageScope): TokenStorageScope {
  const isWritable = access === "" || access === "write";
  return {
    ...scope,
    ...(kinds.length === 0 ? {} : { kinds }),
    access: isWritable ? "write" : "read",
  };
}

export function credentialOf(
  actor: string,
  message: Pick<
    KeyMessage,
    | "account"
    | "roles"
    | "projects"
    | "description"
    | "createTimeMs"
    | "expireTimeMs"
    | "disabled"
    | "rotatedFrom"
  > &
    Pick<KeyMessage, "user" | "parent"> &
    Partial<Pick<TokenMessage, "pool" | "stacks" | "lastUseTimeMs">>,
): Credential {
  const { user, parent, stacks = [], lastUseTimeMs = 0n } = message;
  return {
    actor,
    account: message.account,
    roles: rolesNamed(message.roles),
    projects: message.projects,
    ...(message.pool !== undefined && message.pool !== "" && { pool: message.pool }),
    ...(user !== "" && { user }),
    ...(parent !== "" && { parent: tokenIdOf(parent) }),
    ...(stacks.length > 0 && { stacks }),
    lastUseTimeMs: lastUseTimeMs === 0n ? undefined : Number(lastUseTimeMs),
    description: message.description,
    createTimeMs: Number(message.createTimeMs),
    expireTimeMs: message.expireTimeMs === 0n ? undefined : Number(message.expireTimeMs),
    disabled: message.disabled,
    rotatedFrom: message.rotatedFrom === "" ? undefined : message.rotatedFrom,
  };
}

export function keyAt(accessKey: string): RecordName<KeyMessage> {
  return { kind: ACCESS_KEY, tenancy: SYSTEM_TENANCY, name: accessKey };
}

export function tokenAt(digest: string): RecordName<TokenMessage> {
  return { kind: TOKEN, tenancy: SYSTEM_TENANCY, name: digest };
}

export function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
