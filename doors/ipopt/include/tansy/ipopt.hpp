/* tansy/ipopt.hpp - nonlinear programs from traced functions, solved by Ipopt, in C++17.
 *
 * SPDX-License-Identifier: MIT
 *
 * <tansy/ipopt.h>, which is the manual of what is solved and of every error, as a handle of <tansy.hpp>'s:
 *
 *     tn::ipopt solver({f, g, 2, {-1e20, 0}, {1e20, 1}});      // two variables, the second between 0 and 1; g = 0
 *     const tn::ipopt_result r = solver.solve({0, {1, 2, 3}});
 *
 * Bounds and starts are lists with an entry for each array that they are about: the variables of f, the outputs of g.
 * An entry is a number, which all elements of the array are, or numbers in braces that broadcast to it as NumPy's do
 * ({{0}, {1}} is a row of zeros and one of ones), or a std::vector of all its elements.  An empty list says nothing:
 * no bound, a start of zeros, and, of both gl and gu, g = 0. */
#ifndef TANSY_IPOPT_HPP
#define TANSY_IPOPT_HPP

#include "ipopt.h"
#include <tansy.hpp>

namespace tn {
inline namespace TN_I_MODE {

/* min f(x.., p..) subject to gl <= g(x.., p..) <= gu, xl <= x <= xu (tn_nlp). */
struct nlp {
    program f, g; /* an empty g: no constraints */
    size_t variables = 1;
    std::vector<numbers> xl = {}, xu = {}, gl = {}, gu = {};
};

/* With exceptions status is TN_OK. */
struct ipopt_result : tn_ipopt_result {
    tn_status status;
};

/* A solver (tn_ipopt); a copy is another handle of the same one.  It keeps the context of f.  TN_EINVAL: a list with
 * another number of entries than there are arrays, or an entry that does not fit its array; and what tn_ipopt_new
 * fails with. */
class ipopt {
    std::shared_ptr<tn_ipopt> s_;
    std::vector<tn_type> variables_;
    const char *why_ = "the solver is empty";

    /* The elements of these arrays, and where they are: NULL for an empty list. */
    static const double *spread(const std::vector<numbers> &list, const std::vector<tn_type> &arrays,
                                std::vector<double> &to, bool &fits) {
        if (list.empty()) return nullptr;
        fits = fits && list.size() == arrays.size();
        for (size_t i = 0; fits && i < list.size(); i++) fits = list[i].append(arrays[i], to);
        to.push_back(0); /* no elements are not no bounds */
        return to.data();
    }

  public:
    ipopt() {}
    explicit ipopt(const nlp &p, const tn_ipopt_options *options = nullptr) {
        std::vector<tn_type> rows;
        std::vector<double> xl, xu, gl, gu;
        bool fits = true;
        if (!p.f) {
            (void)i::failed(TN_EINVAL, why_ = "the program is empty");
            return;
        }
        for (size_t k = 0; k < p.variables && k < p.f.inputs(); k++) variables_.push_back(p.f.input_type(k));
        for (size_t k = 0; k < p.g.outputs(); k++) rows.push_back(p.g.output_type(k));
        auto n = tn_sized<tn_nlp>();
        n.f = p.f.get();
        n.g = p.g.get();
        n.variables = p.variables;
        n.xl = spread(p.xl, variables_, xl, fits);
        n.xu = spread(p.xu, variables_, xu, fits);
        n.gl = spread(p.gl, rows, gl, fits);
        n.gu = spread(p.gu, rows, gu, fits);
        if (!fits) {
            (void)i::failed(TN_EINVAL, why_ = "ipopt: bounds that do not fit their arrays");
            return;
        }
        s_ = std::shared_ptr<tn_ipopt>(tn_ipopt_new(&n, options),
                                       [c = p.f.owned_by()](tn_ipopt *s) { tn_ipopt_free(s); });
        if (tn_ipopt_status(get()) != TN_OK) (void)i::failed(tn_ipopt_status(get()), tn_ipopt_error(get()));
    }
    tn_ipopt *get() const { return s_.get(); }
    explicit operator bool() const { return s_ && tn_ipopt_status(get()) == TN_OK; }
    const char *error() const { return s_ ? tn_ipopt_error(get()) : why_; }

    /* Solves from x, with parameters p = tn::in(..) (tn_ipopt_solve).  What the result points to is the solver's, until
     * its next solve. */
    ipopt_result solve(const std::vector<numbers> &x = {}, const inputs &p = {}) const {
        ipopt_result r{};
        std::vector<double> from;
        bool fits = true;
        const char *wrong = nullptr;
        auto start = tn_sized<tn_ipopt_start>();
        start.x = spread(x, variables_, from, fits);
        r.size = sizeof(tn_ipopt_result);
        if (!s_ || !fits) {
            r.status = i::failed(TN_EINVAL, s_ ? "ipopt: a start that does not fit its variables" : why_);
            return r;
        }
        r.status = i::with_lists(p, outputs{}, &wrong, [&](const void *const *in, void *const *) {
            start.p = p.v.empty() ? nullptr : in;
            return tn_ipopt_solve(get(), &start, &r);
        });
        if (r.status != TN_OK) (void)i::failed(r.status, wrong ? wrong : tn_ipopt_error(get()));
        return r;
    }
};

} // namespace TN_I_MODE
} // namespace tn

#endif
