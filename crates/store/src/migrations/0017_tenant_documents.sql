-- Tenants have documents of their own: two tenants may have one of the same kind and name. The versions that write
-- without a tenant needed these indexes (see document_tenants).
DROP INDEX documents_without_tenant;
DROP INDEX document_references_without_tenant;
