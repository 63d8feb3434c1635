// SPDX-License-Identifier: Apache-2.0

// render CHART RELEASE [KEY=VALUE...]: what `helm template RELEASE CHART --set ...` prints, for charts
// that use sprig's functions, include, toYaml and fail. Helm itself is in no Debian package. VALUE is YAML.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

type object = map[string]interface{}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

func read(path string) object {
	text, err := os.ReadFile(path)
	must(err)
	made := object{}
	must(yaml.Unmarshal(text, &made))
	return made
}

func set(values object, word string) {
	key, text, found := strings.Cut(word, "=")
	if !found {
		must(fmt.Errorf("'%s' is not KEY=VALUE", word))
	}
	parts := strings.Split(key, ".")
	for _, part := range parts[:len(parts)-1] {
		inner, ok := values[part].(object)
		if !ok {
			must(fmt.Errorf("values.yaml has no map '%s' of '%s'", part, key))
		}
		values = inner
	}
	last := parts[len(parts)-1]
	if _, ok := values[last]; !ok {
		must(fmt.Errorf("values.yaml has no '%s'", key))
	}
	var value interface{}
	must(yaml.Unmarshal([]byte(text), &value))
	values[last] = value
}

func main() {
	chart, values := read(filepath.Join(os.Args[1], "Chart.yaml")), read(filepath.Join(os.Args[1], "values.yaml"))
	for _, word := range os.Args[3:] {
		set(values, word)
	}
	data := object{
		"Values":  values,
		"Release": object{"Name": os.Args[2], "Namespace": "default", "Service": "Helm"},
		"Chart":   object{"Name": chart["name"], "Version": chart["version"], "AppVersion": chart["appVersion"]},
	}
	all := template.New("chart").Option("missingkey=zero").Funcs(sprig.TxtFuncMap())
	all.Funcs(template.FuncMap{
		"include": func(name string, with interface{}) (string, error) {
			var out strings.Builder
			err := all.ExecuteTemplate(&out, name, with)
			return out.String(), err
		},
		"toYaml": func(value interface{}) (string, error) {
			var out strings.Builder
			encoder := yaml.NewEncoder(&out)
			encoder.SetIndent(2)
			err := encoder.Encode(value)
			return strings.TrimSuffix(out.String(), "\n"), err
		},
		"fail": func(sentence string) (string, error) { return "", errors.New(sentence) },
	})
	files, err := filepath.Glob(filepath.Join(os.Args[1], "templates", "*"))
	must(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(err)
		_, err = all.New(filepath.Base(file)).Parse(string(text))
		must(err)
	}
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), "_") {
			continue
		}
		var out strings.Builder
		must(all.ExecuteTemplate(&out, filepath.Base(file), data))
		if text := strings.TrimSpace(out.String()); text != "" {
			fmt.Printf("---\n# Source: %s/templates/%s\n%s\n", chart["name"], filepath.Base(file), text)
		}
	}
}
