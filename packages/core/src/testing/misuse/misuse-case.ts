/** A configuration with ephemeral values, some of them where they must not stand. */
export interface MisuseCase {
  readonly name: string;
  /** The root module, beside `MISUSE_HEAD`. */
  readonly text: string;
  /** The module in the directory `m`. */
  readonly child?: string;
}

/** What a command says to a case: the sorted summaries of its errors, none where it accepts. */
export interface MisuseVerdict {
  readonly validate: readonly string[];
  readonly plan: readonly string[];
}

/** What every root module declares. The values suit the cases, so that only ephemerality is wrong. */
export const MISUSE_HEAD = `
  terraform {
    required_providers {
      lab     = { source = "example.com/acme/lab" }
      archive = { source = "hashicorp/archive" }
    }
  }
  variable "directory" { default = "objects" }
  provider "lab" { directory = var.directory }

  variable "e" {
    type      = string
    ephemeral = true
    default   = "x"
  }
  variable "n" {
    type      = number
    ephemeral = true
    default   = 0
  }
  variable "b" {
    type      = bool
    ephemeral = true
    default   = true
  }
  variable "l" {
    type      = list(string)
    ephemeral = true
    default   = ["x"]
  }
  variable "m" {
    type      = map(string)
    ephemeral = true
    default   = { a = "x" }
  }
  ephemeral "lab_lease" "lease" { name = "lease" }
`;

/** An object, with further arguments. */
export function object(name: string, body = ""): string {
  return `resource "lab_object" "${name}" {\n  name = "${name}"\n${body}\n}\n`;
}
