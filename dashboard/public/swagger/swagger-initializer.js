// Starts Swagger UI. The document is named relative to the page, so it is found below every base path.
SwaggerUIBundle({
  url: new URL("../admin/api/v1/openapi.json", location.href).pathname,
  dom_id: "#swagger-ui",
  deepLinking: true,
  // The validator is a service on the internet.
  validatorUrl: null,
});
