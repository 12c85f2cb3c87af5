import { join } from "node:path";

/** The embedded store of a server of the release `workers`, as record-store.ts left it. */
export const STORE_FIXTURE = join(import.meta.dirname, "../../server-stores/workers");

/** A configuration without a provider of its own; the word is a sensitive variable of the stack. */
export function storedConfiguration(text: string): string {
  return `variable "word" {
  sensitive = true
}
resource "terraform_data" "a" {
  count = 3
  input = "${text} \${count.index}"
}
output "word" {
  value     = var.word
  sensitive = true
}
`;
}
