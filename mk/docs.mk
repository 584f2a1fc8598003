# Documents that are made: manual pages of functions, and the site (docs/README.md); and Debian packages.

# What is documented: the headers of the library, and those of the doors that were built.
documented  = $(HEADERS) $(SUBHEADERS) $(foreach d,$(BUILT),$(call door_headers,$(d)))

man: ## manual pages of functions, from the headers, in BUILD/man
	@rm -rf $(BUILD)/man
	@tools/docs/man.sh $(BUILD)/man $(documented)

DOXYGEN ?= doxygen
docs: ## the site of documents and headers, in BUILD/site, by Doxygen; no link in it is dead
	@DEPS='$(DEPS)' tools/deps/install.sh docs || :
	@if command -v $(DOXYGEN) >/dev/null; then tools/docs/site.sh $(BUILD)/site $(DOXYGEN) && echo '  $(BUILD)/site/index.html'; \
	    else echo '  skip  docs: no $(DOXYGEN)'; fi

deb: ## Debian packages in BUILD/deb, looked at by lintian and tried; takes as long as a first build
	@DEPS='$(DEPS)' tools/deps/install.sh build packaging || :
	@tests/debian.sh $(BUILD)/deb
