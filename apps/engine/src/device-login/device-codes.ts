import { createHash, createHmac, randomBytes, randomInt } from "node:crypto";

/** Letters that are not taken for one another, and spell no words. Ten of them are 43 bits. */
const ALPHABET = "BCDFGHJKLMNPQRSTVWXZ";
const LETTERS = 10;
const FORM = /^[BCDFGHJKLMNPQRSTVWXZ]{10}$/;
const DEVICE_FORM = /^([0-9a-f]{64})\.([A-Za-z0-9_-]{43})$/;
/** Longer than anything that is typed. */
const TYPED = 64;

/** The code that a user types, as it is compared: without what makes it readable. */
export function makeUserCode(): string {
  return Array.from({ length: LETTERS }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
}

/** As it is shown: `BCDFG-HJKLM`. */
export function shownUserCode(code: string): string {
  return `${code.slice(0, LETTERS / 2)}-${code.slice(LETTERS / 2)}`;
}

/** The code in what a user typed, in any case and with any separators; undefined where there is none. */
export function readUserCode(typed: string): string | undefined {
  if (typed.length > TYPED) return undefined;
  const code = typed.toUpperCase().replaceAll(/[^A-Z]/g, "");
  return FORM.test(code) ? code : undefined;
}

/** What the store has of it. The key keeps a reader of the store from trying all codes. */
export function nameOfUserCode(key: Uint8Array, code: string): string {
  return createHmac("sha256", key).update(code).digest("hex");
}

/** What a command asks with: the name of its login, and a secret. */
export interface DeviceCode {
  readonly name: string;
  readonly secret: string;
}

export function makeDeviceSecret(): string {
  return randomBytes(32).toString("base64url");
}

export function deviceCodeText({ name, secret }: DeviceCode): string {
  return `${name}.${secret}`;
}

export function readDeviceCode(text: string): DeviceCode | undefined {
  const [, name, secret] = DEVICE_FORM.exec(text) ?? [];
  return name === undefined || secret === undefined ? undefined : { name, secret };
}

/** 256 random bits need no slow hash. */
export function digestOfSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
