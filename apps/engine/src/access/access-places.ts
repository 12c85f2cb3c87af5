import { createHash } from "node:crypto";
import { type Tenancy, tenancyOf } from "@stackwright/storage";
import type { Place } from "../domain/run-places.ts";

/** Logins of commands on other machines: of which account their users are is known at the end. */
export const DEVICE_LOGINS: Tenancy = tenancyOf({ kind: "site" });
/** Codes for browsers: a code does not say of which account it is. */
export const CONSOLE_CODES: Tenancy = tenancyOf({ kind: "site" });

export type SubjectKind = "user" | "team";

/** What a role is given to, and where. */
export interface BindingPlace {
  readonly account: string;
  /** Undefined: in the whole account. */
  readonly project?: string | undefined;
  readonly kind: SubjectKind;
  readonly subject: string;
}

export function accountTenancy(account: string): Tenancy {
  return tenancyOf({ kind: "account", account });
}

/** Where a user or a team is. */
export function memberOfAccount(account: string, name: string): Place {
  return { tenancy: accountTenancy(account), name };
}

export function bindingPlace({ account, project, kind, subject }: BindingPlace): Place {
  const place = project === undefined ? "account" : `project-${project}`;
  return { tenancy: accountTenancy(account), name: `${place}.${kind}.${subject}` };
}

/** To whom the role in a place may be given, by its name alone. As names have dots, that may be several. */
export function subjectsOfBinding(name: string): readonly Pick<BindingPlace, "kind" | "subject">[] {
  return [...name.matchAll(/\.(user|team)(?=\.(.+)$)/g)].map(([, kind, subject = ""]) => ({
    kind: kind as SubjectKind,
    subject,
  }));
}

/** Where the user of an identity is noted: by an issuer and its name for the user, never by an address of mail. */
export function identityPlace(account: string, issuer: string, subject: string): Place {
  return { tenancy: accountTenancy(account), name: sha256(`${issuer}\0${subject}`) };
}

/** The places of an identity by the two ways of writing its issuer, the first without a slash at its end. */
export function identityPlaces(
  account: string,
  issuer: string,
  subject: string,
): readonly [Place, Place] {
  const text = issuerText(issuer);
  return [identityPlace(account, text, subject), identityPlace(account, `${text}/`, subject)];
}

/** An issuer as it is compared: providers write their address with a slash at its end, or without one. */
export function issuerText(issuer: string): string {
  return issuer.replace(/\/$/, "");
}

/** Where a login session is: the store has the digest of its secret alone. */
export function sessionPlace(account: string, secret: string): Place {
  return { tenancy: accountTenancy(account), name: sha256(secret) };
}

/** Where the login of a command on another machine is, by what stands for the code that its user types. */
export function deviceLoginPlace(name: string): Place {
  return { tenancy: DEVICE_LOGINS, name };
}

/** Where the codes of an owner are, by what begins each of them. */
export function consoleCodesPlace(name: string): Place {
  return { tenancy: CONSOLE_CODES, name };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
