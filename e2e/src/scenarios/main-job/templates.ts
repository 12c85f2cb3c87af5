import type { Story } from "../../environment/story.ts";
import { gateFile } from "../../testing/with-terminal.ts";

/** The head of a template with an exact version of the private provider, and with the local one of the gates. */
export function head({ provider }: Story, version: string): string {
  return `terraform {
  required_providers {
    notes = {
      source  = "huawei.com/private-provider/${provider}"
      version = "${version}"
    }
    gate = { source = "example.com/e2e/gate" }
  }
}

provider "gate" {
  root = "\${path.root}/site"
}
`;
}

/** A note that the function keeps. */
export function note({ provider }: Story, name: string, text: string, more = ""): string {
  return `resource "notes_note" "${name}" {
  name = "${provider}-${name}"
  text = "${text}"
${more}
}
`;
}

/** A file of the local provider that is made once a test opens the gate. */
export const GATED = gateFile("slow", '  content = "made"\n  gate    = "open"');
