/**
 * Arguments that the backends of the reference command have, for readers that must not ignore a misspelled one. Those with a mark are
 * required. Source: the command, release 1.11, which refuses all others, and the documentation of OpenTofu 1.12.
 */
export const BACKEND_ARGUMENT_NAMES: Readonly<Record<string, readonly string[]>> = {
  local: words("path workspace_dir"),
  http: words(`
    address update_method lock_address lock_method unlock_address unlock_method username password skip_cert_verification retry_max
    retry_wait_min retry_wait_max client_ca_certificate_pem client_certificate_pem client_private_key_pem headers`),
  pg: words(`
    conn_str schema_name skip_schema_creation skip_table_creation skip_index_creation`),
  gcs: words(`
    bucket! prefix credentials access_token impersonate_service_account impersonate_service_account_delegates encryption_key
    kms_encryption_key storage_custom_endpoint`),
  azurerm: words(`
    storage_account_name! container_name! key! subscription_id resource_group_name snapshot environment metadata_host access_key sas_token
    tenant_id client_id client_id_file_path endpoint client_certificate client_certificate_path client_certificate_password client_secret
    client_secret_file_path use_oidc ado_pipeline_service_connection_id oidc_request_token oidc_request_url oidc_token
    oidc_token_file_path use_msi msi_endpoint use_cli use_aks_workload_identity use_azuread_auth`),
  consul: words(`
    path! access_token address scheme datacenter http_auth gzip lock ca_file cert_file key_file`),
  kubernetes: words(`
    secret_suffix! labels namespace in_cluster_config load_config_file host username password insecure client_certificate client_key
    cluster_ca_certificate config_paths config_path config_context config_context_auth_info config_context_cluster token proxy_url exec`),
  s3: words(`
    bucket! key! region acl access_key secret_key token profile shared_config_files shared_credentials_file shared_credentials_files
    allowed_account_ids forbidden_account_ids assume_role assume_role_with_web_identity custom_ca_bundle dynamodb_endpoint dynamodb_table
    ec2_metadata_service_endpoint ec2_metadata_service_endpoint_mode encrypt endpoint endpoints force_path_style http_proxy https_proxy
    iam_endpoint insecure kms_key_id max_retries no_proxy retry_mode skip_credentials_validation skip_metadata_api_check
    skip_region_validation skip_requesting_account_id skip_s3_checksum sse_customer_key sts_endpoint sts_region use_dualstack_endpoint
    use_fips_endpoint use_lockfile use_path_style workspace_key_prefix`),
};

function words(text: string): readonly string[] {
  return Object.freeze(text.split(/\s+/).filter((word) => word !== ""));
}
