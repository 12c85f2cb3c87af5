/** Types that hold data although no word of their names says so. */
const STATEFUL_TYPES = new Set([
  "aws_efs_file_system",
  "aws_fsx_lustre_file_system",
  "aws_kinesis_stream",
  "aws_ecr_repository",
  "aws_instance",
  "aws_cloudwatch_log_group",
  "aws_cognito_user_pool",
  "aws_elasticache_replication_group",
  "aws_elasticsearch_domain",
  "aws_fsx_ontap_file_system",
  "aws_fsx_openzfs_file_system",
  "aws_fsx_windows_file_system",
  "aws_opensearch_domain",
  "aws_ssm_parameter",
  "azurerm_cosmosdb_account",
  "azurerm_linux_virtual_machine",
  "azurerm_mssql_server",
  "azurerm_mysql_flexible_server",
  "azurerm_postgresql_flexible_server",
  "azurerm_postgresql_server",
  "azurerm_storage_account",
  "azurerm_storage_blob",
  "azurerm_storage_container",
  "azurerm_windows_virtual_machine",
  "google_bigquery_dataset",
  "google_bigtable_instance",
  "google_compute_instance",
  "google_filestore_instance",
  "google_redis_instance",
  "google_spanner_instance",
  "kubernetes_persistent_volume_claim",
  "random_password",
]);

const STATEFUL_WORDS = new Set([
  "db",
  "database",
  "bucket",
  "volume",
  "disk",
  "table",
  "queue",
  "vault",
  "secret",
  "key",
  "zone",
  "cluster",
  "repository",
]);

/** Words that are no data in spite of their neighbours: `aws_route_table`, `aws_db_subnet_group`. */
const STATELESS_TYPES =
  /(?:route_table|subnet_group|parameter_group|option_group|_policy|_association|_attachment|_notification|_acl|_rule|_configuration|_public_access_block|_versioning|key_pair|availability_zone)/;

/** Types whose objects protect others, and what it means that one is deleted. */
const PROTECTING: readonly (readonly [type: RegExp, score: number, reason: string])[] = [
  [/public_access_block$/, 70, "the block of public access is removed"],
  [/_encryption_configuration$/, 90, "encryption is turned off"],
  [
    /(?:_bucket_versioning|_backup_plan|_backup_selection|_backup_policy|_automated_backups_replication)$/,
    90,
    "backups or versions are turned off",
  ],
];

/** What is lost with an object that protects others. */
export function protectionLost(type: string): (readonly [number, string])[] {
  return PROTECTING.filter(([pattern]) => pattern.test(type)).map(([, score, reason]) => [
    score,
    reason,
  ]);
}

/** How it is known that objects of a type hold data; undefined where they do not. */
export function holdsData(type: string, declared: boolean | undefined): string | undefined {
  if (declared !== undefined) return declared ? "" : undefined;
  if (STATEFUL_TYPES.has(type)) return "";
  if (STATELESS_TYPES.test(type)) return undefined;
  const word = type.split("_").find((part, index) => index > 0 && STATEFUL_WORDS.has(part));
  return word === undefined ? undefined : " (by its name)";
}
