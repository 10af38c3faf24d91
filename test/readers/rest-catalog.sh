#!/usr/bin/env bash
# Commits to the REST catalog that Apache Iceberg itself is tested with. Java and Maven are needed, which bring it to a temporary folder.
set -eu
folder=$(mktemp -d)
dependency() { echo "<dependency><groupId>$1</groupId><artifactId>$2</artifactId><version>$3</version>${4:+<classifier>$4</classifier>}</dependency>"; }
{
  echo '<project><modelVersion>4.0.0</modelVersion><groupId>leadstream</groupId><artifactId>catalog</artifactId><version>1</version><dependencies>'
  dependency org.apache.iceberg iceberg-open-api 1.10.1 test-fixtures
  dependency org.apache.iceberg iceberg-core 1.10.1
  dependency org.apache.iceberg iceberg-core 1.10.1 tests
  dependency org.apache.hadoop hadoop-client-api 3.4.1
  dependency org.apache.hadoop hadoop-client-runtime 3.4.1
  dependency org.eclipse.jetty jetty-servlet 11.0.26
  dependency org.slf4j slf4j-simple 2.0.17
  echo '</dependencies></project>'
} > "$folder/pom.xml"
mvn -q -B -f "$folder/pom.xml" dependency:copy-dependencies -DoutputDirectory="$folder/lib"

export CATALOG_CATALOG__IMPL=org.apache.iceberg.inmemory.InMemoryCatalog CATALOG_WAREHOUSE=s3://warehouse CATALOG_REST_PORT=${PORT:-18182}
java -cp "$folder/lib/*" org.apache.iceberg.rest.RESTCatalogServer > "$folder/log" 2>&1 &
trap 'kill $!; rm -rf "$folder"' EXIT
until curl -sf "http://127.0.0.1:$CATALOG_REST_PORT/v1/config" > "$folder/config"; do sleep 0.2; kill -0 $! || { cat "$folder/log"; exit 1; }; done
REST_CATALOG=http://127.0.0.1:$CATALOG_REST_PORT npm run -s jest -- test/heavy/lake/rest-catalog.test.ts
