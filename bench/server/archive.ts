import { gzipSync } from "node:zlib";

/** A configuration of one file, as it is uploaded. */
export function archiveOf(text: string): Uint8Array<ArrayBuffer> {
  const content = Buffer.from(text);
  const header = Buffer.alloc(512);
  header.write("main.tf");
  header.write("0000644\0", 100);
  header.write("0000000\0".repeat(2), 108);
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write("        0", 148);
  header.write("ustar\u000000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return Uint8Array.from(gzipSync(Buffer.concat([header, content, padding, Buffer.alloc(1024)])));
}

/** Instances that need no provider. */
export function instances(count: number, version: number): string {
  return `resource "terraform_data" "a" {\n  count = ${count}\n  input = "${version}.\${count.index}"\n}\n`;
}
