import { describe, expect, it } from "vitest";
import { longTypeNameOfToken, parseTypeToken, typeNameOfToken } from "./type-token.ts";

describe("a type token", () => {
  it.each([
    ["random:index/randomId:RandomId", "random_random_id", "random_index_random_id_random_id"],
    ["aws:s3/bucket:Bucket", "aws_s3_bucket", "aws_s3_bucket_bucket"],
    ["command:local:Command", "command_local_command", "command_local_command"],
    ["lab:index:Note", "lab_note", "lab_index_note"],
    ["kubernetes:apps/v1:Set", "kubernetes_apps_v1_set", "kubernetes_apps_v1_set"],
    ["kubernetes:helm.sh/v3:Release", "kubernetes_helm_sh_v3_release", undefined],
    ["azure-native:storage:Blob", "azure_native_storage_blob", undefined],
    ["aws:ec2/getVPCEndpoint:getVPCEndpoint", "aws_ec2_get_vpc_endpoint", undefined],
    ["pkg::Thing", "pkg_thing", "pkg_thing"],
    // The module alone is no repetition.
    ["shelf:book:Book", "shelf_book_book", "shelf_book_book"],
    ["random:index:random_id", "random_random_id", undefined],
  ])("%s is called %s", (text, name, long) => {
    expect(typeNameOfToken(text)).toBe(name);
    if (long !== undefined) expect(longTypeNameOfToken(text)).toBe(long);
    expect(parseTypeToken(text)).toEqual({ text, package: text.split(":")[0], typeName: name });
  });

  it.each([
    "",
    "lab_box",
    "lab:Box",
    "lab:index:",
    ":index:Box",
    "lab:index:Box:More",
    "lab:index:Box.a",
    "lab: index:Box",
    "1ab:index:Box",
    "lab:index:1Box",
    "lab::index::box",
    "lab:index:Box\n",
    "läb:index:Box",
  ])("is not %j", (text) => {
    expect(parseTypeToken(text)).toBeUndefined();
  });
});
